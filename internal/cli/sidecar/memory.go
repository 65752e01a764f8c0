package sidecar

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// memoryEvery is how often the exporter's memory is looked at. The kernel ends all processes of a container together where one takes
// more than the container may have (cgroup v2, memory.oom.group), so the exporter is ended before it does.
const memoryEvery = time.Second

// taken returns the bytes of memory that the processes of a group have for themselves, as far as that can be read. Files that are mapped
// do not count: the kernel takes those back.
func taken(group int) int64 {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	var sum int64
	for _, p := range processes {
		if pid, err := strconv.Atoi(filepath.Base(p)); err == nil {
			if g, err := syscall.Getpgid(pid); err == nil && g == group {
				sum += takenBy(pid)
			}
		}
	}
	return sum
}

func takenBy(pid int) int64 {
	statm, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", pid))
	if err != nil {
		return 0
	}
	fields := strings.Fields(string(statm))
	if len(fields) < 3 {
		return 0
	}
	resident, err := strconv.ParseInt(fields[1], 10, 64)
	if err != nil {
		return 0
	}
	shared, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return 0
	}
	return (resident - shared) * int64(os.Getpagesize())
}
