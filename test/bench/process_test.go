//go:build bench

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// tick is the unit of processor times in /proc, the same on every architecture that Go runs on.
const tick = time.Second / 100

// usage of a process.
type usage struct {
	// rss is what it holds now, peak the most it ever held, in KiB.
	rss, peak int64
	// cpu is its processor time since its start.
	cpu time.Duration
}

func (r *rig) usage(pid int) usage {
	r.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	require.NoError(r.t, err)
	var u usage
	for _, line := range strings.Split(string(status), "\n") {
		for prefix, field := range map[string]*int64{"VmRSS:": &u.rss, "VmHWM:": &u.peak} {
			if value, ok := strings.CutPrefix(line, prefix); ok {
				*field, err = strconv.ParseInt(strings.Fields(value)[0], 10, 64)
				require.NoError(r.t, err)
			}
		}
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(r.t, err)
	// The name in parentheses may hold spaces; utime and stime are the 12th and 13th field after it.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	for _, f := range fields[11:13] {
		ticks, err := strconv.ParseInt(f, 10, 64)
		require.NoError(r.t, err)
		u.cpu += time.Duration(ticks) * tick
	}
	return u
}

func (r *rig) operatorPID() int {
	r.t.Helper()
	var status struct {
		Components []struct {
			Name string
			PID  int
		}
	}
	require.NoError(r.t, json.Unmarshal([]byte(r.cluster("status", "-o", "json")), &status))
	for _, c := range status.Components {
		if c.Name == "addon-operator" {
			return c.PID
		}
	}
	require.Fail(r.t, "addon-operator does not run")
	return 0
}

// controllerProcess is the controller as its supervisor sees it.
type controllerProcess struct {
	Starts  int
	Process struct{ PID int }
	Log     string
}

func (r *rig) controller() controllerProcess {
	r.t.Helper()
	var status controllerProcess
	require.NoError(r.t, json.Unmarshal([]byte(r.cluster("controller", "status")), &status))
	require.NotZero(r.t, status.Process.PID, "the controller does not run; its log is %s", status.Log)
	return status
}
