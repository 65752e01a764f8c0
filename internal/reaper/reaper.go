// Package reaper runs a program as the first process of a container must: in a process group of its own, with every process
// that it leaves behind taken care of.
package reaper

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"syscall"
)

// Reaper starts programs and waits for all children of this process, also for those that became its children because their
// parent ended. There may be one in a process, and os/exec may not be used beside it: one would take the other's children.
type Reaper struct {
	mu      sync.Mutex
	started *sync.Cond
	// living children that were started here.
	living map[int]*Process
}

// New makes this process the one that orphans below it come to, and waits for them from now on.
func New() (*Reaper, error) {
	if err := adopt(); err != nil {
		return nil, fmt.Errorf("children of children cannot be waited for: %w", err)
	}
	r := &Reaper{living: map[int]*Process{}}
	r.started = sync.NewCond(&r.mu)
	go r.reap()
	return r, nil
}

// Process that was started.
type Process struct {
	pid   int
	ended chan struct{}
	// status is set when ended is closed.
	status syscall.WaitStatus
}

// Start runs a program by its path. Its output is that of this process.
func (r *Reaper) Start(path string, args, env []string) (*Process, error) {
	// Whoever ends before it is known here must not be reaped meanwhile.
	r.mu.Lock()
	defer r.mu.Unlock()
	files := []uintptr{os.Stdin.Fd(), os.Stdout.Fd(), os.Stderr.Fd()}
	pid, err := syscall.ForkExec(path, append([]string{path}, args...), &syscall.ProcAttr{
		Env: env, Files: files, Sys: &syscall.SysProcAttr{Setpgid: true},
	})
	if err != nil {
		return nil, &os.PathError{Op: "start", Path: path, Err: err}
	}
	p := &Process{pid: pid, ended: make(chan struct{})}
	r.living[pid] = p
	r.started.Signal()
	return p, nil
}

func (r *Reaper) reap() {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		r.mu.Lock()
		switch {
		case errors.Is(err, syscall.ECHILD):
			for len(r.living) == 0 {
				r.started.Wait()
			}
		case err == nil:
			if p := r.living[pid]; p != nil {
				delete(r.living, pid)
				p.status = status
				close(p.ended)
			}
		}
		r.mu.Unlock()
	}
}

// Pid of the program, which means nothing once it has ended.
func (p *Process) Pid() int { return p.pid }

// Ended is closed when the program itself has ended; others of its group may live.
func (p *Process) Ended() <-chan struct{} { return p.ended }

// State says in words how an ended program ended.
func (p *Process) State() string {
	if p.status.Signaled() {
		return "signal " + p.status.Signal().String()
	}
	return fmt.Sprintf("exit code %d", p.status.ExitStatus())
}

// Signal sends a signal to the program and all of its group; to none that is left it is no error.
func (p *Process) Signal(s syscall.Signal) error {
	if err := syscall.Kill(-p.pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("signal %s to process group %d: %w", s, p.pid, err)
	}
	return nil
}
