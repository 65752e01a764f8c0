// Package configfile follows the mounted file that tells the controller its settings. What worked is never lost: a file
// that cannot be read or understood leaves the last good content in force and is reported beside it.
package configfile

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
)

// rereadEvery is how often the file is read again even without a notice. Notices are the normal way; inotify instances are
// a small per-node allowance that other pods may have used up, and a mount that cannot be watched must still be followed.
const rereadEvery = 10 * time.Second

// settleFor lets a burst of notices end: the kubelet replaces a mounted ConfigMap by several renames in a row.
const settleFor = 100 * time.Millisecond

// State is what is known of the file.
type State[T any] struct {
	// Good is the last content that could be understood, nil before there was one.
	Good *T
	// Err says why the present content is not Good, nil when it is.
	Err error
}

// Source follows one file.
type Source[T any] struct {
	path  string
	parse func([]byte) (*T, error)

	mu      sync.Mutex
	state   State[T]
	good    []byte
	changed chan struct{}
}

// New returns a Source of a file whose content parse understands. Call Read or Start before State.
func New[T any](path string, parse func([]byte) (*T, error)) *Source[T] {
	return &Source[T]{path: path, parse: parse, changed: make(chan struct{})}
}

// State returns what is known now, and a channel that is closed when that changes.
func (s *Source[T]) State() (State[T], <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, s.changed
}

// Read reads the file once. Content that means the same as the last good one keeps the same Good pointer.
func (s *Source[T]) Read() {
	data, err := os.ReadFile(s.path)
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.state
	switch {
	case err != nil:
		next.Err = err
	case s.state.Good != nil && bytes.Equal(data, s.good):
		next.Err = nil
	default:
		parsed, err := s.parse(data)
		if err != nil {
			next.Err = fmt.Errorf("%s: %w", filepath.Base(s.path), err)
			break
		}
		next.Err, s.good = nil, data
		if next.Good == nil || !reflect.DeepEqual(next.Good, parsed) {
			next.Good = parsed
		}
	}
	if next.Good == s.state.Good && text(next.Err) == text(s.state.Err) {
		return
	}
	s.state = next
	close(s.changed)
	s.changed = make(chan struct{})
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Start follows the file until ctx ends.
func (s *Source[T]) Start(ctx context.Context) error {
	notices, stop := s.watch(logr.FromContextOrDiscard(ctx))
	defer stop()
	reread := time.NewTicker(rereadEvery)
	defer reread.Stop()
	for {
		s.Read()
		select {
		case <-ctx.Done():
			return nil
		case <-reread.C:
		case <-notices:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(settleFor):
			}
		}
	}
}

// watch gives notices of anything that happens in the file's folder. The folder, not the file: a mounted ConfigMap changes
// by a symlink that is swapped beside it, which a watch on the file would not see.
func (s *Source[T]) watch(log logr.Logger) (<-chan struct{}, func()) {
	watcher, err := fsnotify.NewWatcher()
	if err == nil {
		err = watcher.Add(filepath.Dir(s.path))
	}
	if err != nil {
		log.Info("no notices of changes of the configuration file; it is read again every "+rereadEvery.String(), "file", s.path, "error", err.Error())
		return nil, func() {
			if watcher != nil {
				_ = watcher.Close()
			}
		}
	}
	notices := make(chan struct{}, 1)
	go func() {
		for {
			select {
			case _, open := <-watcher.Events:
				if !open {
					return
				}
				select {
				case notices <- struct{}{}:
				default:
				}
			case err, open := <-watcher.Errors:
				if !open {
					return
				}
				log.Info("watching the configuration file", "file", s.path, "error", err.Error())
			}
		}
	}()
	return notices, func() { _ = watcher.Close() }
}
