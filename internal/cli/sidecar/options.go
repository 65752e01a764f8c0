package sidecar

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/lastsample"
)

// options of the command line.
type options struct {
	listen, path string
	lastsample.Timing
	// files of the exporter, each as NAME=TEXT.
	files []string
	// memory in bytes that the exporter may take, 0: any.
	memory int64
}

func (o options) check(command []string) error {
	if _, port, err := net.SplitHostPort(o.listen); err != nil || port == "" {
		return fmt.Errorf("--listen: found %q, expected [address]:port", o.listen)
	}
	if !strings.HasPrefix(o.path, "/") || strings.ContainsAny(o.path, "{} ?") || !clean(o.path) {
		return fmt.Errorf("--path: found %q, expected a path as /metrics, in which no element is empty or made of dots", o.path)
	}
	if o.Interval <= 0 {
		return fmt.Errorf("--interval: found %s, expected a duration above 0", o.Interval)
	}
	if o.Grace < 0 {
		return fmt.Errorf("--grace: found %s, expected a duration of 0 or more", o.Grace)
	}
	for _, f := range o.files {
		if name, _, ok := strings.Cut(f, "="); !ok || name == "" || name != filepath.Base(name) || name == "." || name == ".." {
			return fmt.Errorf("--file: found %q, expected NAME=TEXT, with a name that has no slash in it", cut(f))
		}
	}
	if command[0] == "" {
		return errors.New("COMMAND: found an empty text, expected the exporter's program")
	}
	if o.Collect < 0 {
		return fmt.Errorf("--collect: found %s, expected a duration of 0 or more", o.Collect)
	}
	if o.memory < 0 {
		return fmt.Errorf("--memory: found %d, expected bytes, or 0 for no limit", o.memory)
	}
	return nil
}

// cut leaves of a long text what is enough to know it by.
func cut(text string) string {
	if len(text) > 40 {
		return text[:40] + "..."
	}
	return text
}

// clean tells whether a path is one as net/http takes it: it panics at others.
func clean(p string) bool {
	trimmed := strings.TrimSuffix(p, "/")
	return p == "/" || trimmed != "/" && path.Clean(trimmed) == trimmed
}

// tokens of the exporter's arguments, environment and files.
func tokens(address, config string) *strings.Replacer {
	_, port, _ := net.SplitHostPort(address)
	return strings.NewReplacer("{listen}", address, "{port}", port, "{config}", config)
}

func fill(texts []string, with *strings.Replacer) []string {
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = with.Replace(t)
	}
	return out
}

// write the exporter's files into a folder.
func (o options) write(folder string, with *strings.Replacer) error {
	if len(o.files) == 0 {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, f := range o.files {
		name, text, _ := strings.Cut(f, "=")
		if err := os.WriteFile(filepath.Join(folder, name), []byte(with.Replace(text)), 0o644); err != nil {
			return err
		}
	}
	return nil
}
