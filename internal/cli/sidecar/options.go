package sidecar

import (
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/lastsample"
)

// options of the command line.
type options struct {
	listen, path string
	lastsample.Timing
}

func (o options) check(command []string) error {
	if _, port, err := net.SplitHostPort(o.listen); err != nil || port == "" {
		return fmt.Errorf("--listen: found %q, expected [address]:port", o.listen)
	}
	if !strings.HasPrefix(o.path, "/") || strings.ContainsAny(o.path, "{} ?") {
		return fmt.Errorf("--path: found %q, expected a path as /metrics", o.path)
	}
	if o.Interval <= 0 {
		return fmt.Errorf("--interval: found %s, expected a duration above 0", o.Interval)
	}
	if o.Grace < 0 {
		return fmt.Errorf("--grace: found %s, expected a duration of 0 or more", o.Grace)
	}
	if !filepath.IsAbs(command[0]) {
		return fmt.Errorf("COMMAND: found %q, expected an absolute path: images of exporters need not set PATH", command[0])
	}
	return nil
}

// fill puts the exporter's address into its arguments and environment.
func fill(texts []string, address string) []string {
	_, port, _ := net.SplitHostPort(address)
	r := strings.NewReplacer("{listen}", address, "{port}", port)
	out := make([]string, len(texts))
	for i, t := range texts {
		out[i] = r.Replace(t)
	}
	return out
}
