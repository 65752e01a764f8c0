// Package progress tells a person what a long command is doing: one line a step with its
// seconds, redrawn on a terminal, and a heartbeat line in a log.
package progress

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	redrawInterval = time.Second
	// CI systems take silence for a hang: something is said at least this often.
	heartbeatInterval = 20 * time.Second
	lineWidth         = 100
)

// Reporter writes steps to one output. One step is open at a time.
type Reporter struct {
	out      io.Writer
	terminal bool
	interval time.Duration
}

// New returns a reporter that redraws when file is a terminal and logs otherwise.
func New(file *os.File) *Reporter {
	info, err := file.Stat()
	if err == nil && info.Mode()&os.ModeCharDevice != 0 {
		return &Reporter{out: file, terminal: true, interval: redrawInterval}
	}
	return &Reporter{out: file, interval: heartbeatInterval}
}

// Say writes one line outside any step.
func (r *Reporter) Say(format string, args ...any) {
	fmt.Fprintf(r.out, format+"\n", args...)
}

// Step is one running piece of work.
type Step struct {
	reporter *Reporter
	label    string
	detail   func() string
	started  time.Time
	stop     chan struct{}
	stopped  sync.WaitGroup
}

// Start opens a step. detail, if not nil, is asked for a few words at every beat; it is
// called from another goroutine.
func (r *Reporter) Start(label string, detail func() string) *Step {
	s := &Step{reporter: r, label: label, detail: detail, started: time.Now(), stop: make(chan struct{})}
	s.stopped.Add(1)
	go s.beat()
	return s
}

func (s *Step) beat() {
	defer s.stopped.Done()
	ticker := time.NewTicker(s.reporter.interval)
	defer ticker.Stop()
	for {
		select {
		case <-s.stop:
			return
		case <-ticker.C:
			s.write("...")
		}
	}
}

func (s *Step) write(word string) {
	line := fmt.Sprintf("%s: %s %.0f s", s.label, word, time.Since(s.started).Seconds())
	if s.detail != nil {
		if detail := s.detail(); detail != "" {
			line += ", " + detail
		}
	}
	if len(line) > lineWidth {
		line = line[:lineWidth]
	}
	if s.reporter.terminal {
		fmt.Fprintf(s.reporter.out, "\r\033[K%s", line)
		return
	}
	fmt.Fprintln(s.reporter.out, line)
}

// Done closes the step with a word or two about how it ended ("ready", "built").
func (s *Step) Done(result string) {
	close(s.stop)
	s.stopped.Wait()
	if s.reporter.terminal {
		fmt.Fprint(s.reporter.out, "\r\033[K")
	}
	fmt.Fprintf(s.reporter.out, "%s: %s in %.1f s\n", s.label, result, time.Since(s.started).Seconds())
}
