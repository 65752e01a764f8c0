// Command meter runs a program once and prints as JSON what the run took.
//
// It stands between the bench and what the bench measures because Linux counts, in the peak memory of a process, that of the
// process which started it (exec_mmap in fs/exec.c, for the way in which Go starts programs). The bench holds whole fleets in
// memory; this program holds next to nothing.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

func main() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stderr = os.Stderr
	start := time.Now()
	out, err := cmd.Output()
	wall := time.Since(start)
	if err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", os.Args[1], err)
		os.Exit(1)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if !ok {
		fmt.Fprintln(os.Stderr, "this system does not tell what a process used")
		os.Exit(1)
	}
	err = json.NewEncoder(os.Stdout).Encode(map[string]any{
		"wall":   wall.Nanoseconds(),
		"cpu":    time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		"rssKiB": usage.Maxrss,
		"out":    string(out),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
