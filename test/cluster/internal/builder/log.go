package builder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

const tailLines = 20

// buildLog keeps the output of go commands in a file and knows its last lines.
type buildLog struct {
	path string
	file *os.File

	mu       sync.Mutex
	packages int
	rest     string
	last     []string
}

func newBuildLog(path string) (*buildLog, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, fmt.Errorf("build log %s: %w", path, err)
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("build log %s: %w", path, err)
	}
	return &buildLog{path: path, file: file}, nil
}

// Write takes output in whatever pieces it comes.
func (l *buildLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := strings.Split(l.rest+string(p), "\n")
	l.rest = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		// `go build -v` prints each package it compiles as a bare import path.
		if !strings.ContainsAny(line, " \t") && line != "" {
			l.packages++
		}
		l.last = append(l.last, line)
	}
	if extra := len(l.last) - tailLines; extra > 0 {
		l.last = l.last[extra:]
	}
	return l.file.Write(p)
}

// Summary is what a heartbeat shows.
func (l *buildLog) Summary() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.last) == 0 {
		return ""
	}
	return fmt.Sprintf("%d packages, %s", l.packages, l.last[len(l.last)-1])
}

// Tail is the last lines, for an error message.
func (l *buildLog) Tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(strings.Join(append(l.last, l.rest), "\n"))
}

// Close closes the file.
func (l *buildLog) Close() error { return l.file.Close() }
