//go:build bench

package bench

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// programs of the bench itself, built once.
type programs struct{ meter, yardstick, emptyHook string }

func buildPrograms(t *testing.T) programs {
	t.Helper()
	dir := t.TempDir()
	build := func(name string) string {
		path := filepath.Join(dir, name)
		// As the hooks are built: without -trimpath, which would hide the hook's name from the SDK.
		out, err := exec.Command("go", "build", "-ldflags", "-s -w", "-o", path, "./"+name).CombinedOutput()
		require.NoError(t, err, "%s", out)
		return path
	}
	return programs{meter: build("meter"), yardstick: build("yardstick"), emptyHook: build("emptyhook")}
}

// run is what one run of a program took.
type run struct {
	// Wall and CPU in nanoseconds, the process's start included.
	Wall, CPU time.Duration
	RSSKiB    int64
	// Out is what it printed.
	Out string
}

// measure runs a program once.
func (p programs) measure(t *testing.T, env []string, program string, args ...string) run {
	t.Helper()
	cmd := exec.Command(p.meter, append([]string{program}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, "%s", &stderr)
	var r run
	require.NoError(t, json.Unmarshal(out, &r))
	return r
}

// runs of one program on one input.
type runs []run

// shortest wall time: on a machine that does other work too, the one that says most about the program.
func (r runs) shortest() time.Duration {
	best := r[0].Wall
	for _, one := range r {
		best = min(best, one.Wall)
	}
	return best
}

func (r runs) cpu() time.Duration {
	var list []time.Duration
	for _, one := range r {
		list = append(list, one.CPU)
	}
	return median(list)
}

// rss is the median of the peaks, in KiB.
func (r runs) rss() int64 {
	var list []int64
	for _, one := range r {
		list = append(list, one.RSSKiB)
	}
	return median(list)
}
