// Package filelock lets one process at a time into a section, across processes, and
// leaves no file behind.
package filelock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// retryInterval is how often a held lock is tried again.
const retryInterval = 50 * time.Millisecond

// Lock is a held lock. The kernel drops it when the process ends, however it ends.
type Lock struct {
	path string
	file *os.File
}

// Acquire waits until it holds the lock at path or ctx ends. onWait, if not nil, is
// called once when it has to wait, so that a person learns why nothing happens.
func Acquire(ctx context.Context, path string, onWait func()) (*Lock, error) {
	for {
		lock, err := try(path)
		if err != nil {
			return nil, err
		}
		if lock != nil {
			return lock, nil
		}
		if onWait != nil {
			onWait()
			onWait = nil
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("lock %s is held by another process: %w", path, ctx.Err())
		case <-time.After(retryInterval):
		}
	}
}

// try returns nil without an error when the lock is held elsewhere.
func try(path string) (*Lock, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		// It was made and removed again by others while this looked.
		if info, statErr := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrExist) && (statErr != nil || info.IsDir()) {
			return nil, nil
		}
		return nil, fmt.Errorf("lock %s: its folder cannot be made: %w", path, err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if errors.Is(err, fs.ErrNotExist) {
		// Whoever held a lock there before removed the empty folder just now.
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("lock %s cannot be opened: %w", path, err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil
		}
		return nil, fmt.Errorf("lock %s: flock: %w", path, err)
	}
	// The holder before us removes the file when it is done: a lock on a removed file
	// protects nothing, since the next process makes a new one.
	held, err := file.Stat()
	if err == nil {
		if current, statErr := os.Stat(path); statErr == nil && os.SameFile(held, current) {
			return &Lock{path: path, file: file}, nil
		}
	}
	file.Close()
	return nil, nil
}

// Release gives the lock back and removes its file.
func (l *Lock) Release() {
	// Removed while still held: the order keeps the check in try sound.
	os.Remove(l.path)
	l.file.Close()
}
