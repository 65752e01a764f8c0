// Package process starts detached processes and knows them again later, so that a number
// which the kernel has given to another process since is never signalled.
package process

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Identity names one process for good: a PID alone is used again by the kernel.
type Identity struct {
	PID int `json:"pid"`
	// StartTicks is the process's start in clock ticks since boot (proc_pid_stat(5), field 22).
	StartTicks uint64 `json:"startTicks"`
	// BootID tells apart the same ticks of two boots.
	BootID string `json:"bootID"`
}

// Of reads the identity of a running process.
func Of(pid int) (Identity, error) {
	stat, err := readStat(pid)
	if err != nil {
		return Identity{}, err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return Identity{}, fmt.Errorf("process %d: the boot id cannot be read: %w", pid, err)
	}
	return Identity{PID: pid, StartTicks: stat.startTicks, BootID: strings.TrimSpace(string(boot))}, nil
}

// Alive says whether that very process still runs. A zombie does not: it only waits for
// its parent to read how it ended.
func (i Identity) Alive() bool {
	if i.PID <= 0 {
		return false
	}
	stat, err := readStat(i.PID)
	if err != nil || stat.state == 'Z' || stat.state == 'X' {
		return false
	}
	now, err := Of(i.PID)
	return err == nil && now == i
}

// Signal sends sig to that very process, or to its whole process group. A process that is
// gone is no error.
func (i Identity) Signal(sig syscall.Signal, group bool) error {
	// The handle (a pidfd) is taken before the check: what was checked is what is signalled.
	handle, err := os.FindProcess(i.PID)
	if err != nil || !i.Alive() {
		return nil
	}
	defer handle.Release()
	if group {
		if err := syscall.Kill(-i.PID, sig); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("process group %d: signal %v: %w", i.PID, sig, err)
		}
		return nil
	}
	if err := handle.Signal(sig); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("process %d: signal %v: %w", i.PID, sig, err)
	}
	return nil
}

// Stop asks the process group to end, waits up to grace and then kills it. It returns
// when the process is gone.
func (i Identity) Stop(grace time.Duration) error {
	if err := i.Signal(syscall.SIGTERM, true); err != nil {
		return err
	}
	if i.waitGone(grace) {
		return nil
	}
	return i.Kill()
}

// Kill ends the process group with SIGKILL and returns when the process is gone.
func (i Identity) Kill() error {
	if err := i.Signal(syscall.SIGKILL, true); err != nil {
		return err
	}
	if !i.waitGone(killWait) {
		return fmt.Errorf("process %d is still there %v after SIGKILL: /proc/%d/stack shows what it waits for", i.PID, killWait, i.PID)
	}
	return nil
}

func (i Identity) waitGone(limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	for i.Alive() {
		if time.Now().After(deadline) {
			return false
		}
		time.Sleep(20 * time.Millisecond)
	}
	return true
}

// killWait is how long the kernel may take to end a killed process that flushes to a busy disk.
const killWait = 10 * time.Second

type stat struct {
	state      byte
	startTicks uint64
}

func readStat(pid int) (stat, error) {
	path := fmt.Sprintf("/proc/%d/stat", pid)
	raw, err := os.ReadFile(path)
	if err != nil {
		return stat{}, fmt.Errorf("process %d: %w", pid, err)
	}
	return parseStat(path, raw)
}

// parseStat starts after the last parenthesis: the command's name before it may hold
// spaces and parentheses of its own.
func parseStat(path string, raw []byte) (stat, error) {
	end := bytes.LastIndexByte(raw, ')')
	fields := strings.Fields(string(raw[end+1:]))
	const state, startTime = 0, 19 // fields 3 and 22 of the file
	if end < 0 || len(fields) <= startTime {
		return stat{}, fmt.Errorf("%s: found %q, expected at least 22 fields", path, raw)
	}
	ticks, err := strconv.ParseUint(fields[startTime], 10, 64)
	if err != nil {
		return stat{}, fmt.Errorf("%s: field 22 is %q, expected the start time in ticks", path, fields[startTime])
	}
	return stat{state: fields[state][0], startTicks: ticks}, nil
}
