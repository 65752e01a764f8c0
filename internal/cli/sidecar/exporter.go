package sidecar

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gpu-dra/gpu-dra/internal/reaper"
)

// exporter is the program behind the sidecar: there, or not at the moment.
type exporter struct {
	*runner
	mu               sync.Mutex
	process          *reaper.Process
	address, problem string
}

func newExporter(r *runner) *exporter {
	return &exporter{runner: r, problem: "the exporter was not started yet"}
}

// Address of the exporter's listener, or why there is none.
func (e *exporter) Address() (address, problem string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.address, e.problem
}

func (e *exporter) set(p *reaper.Process, address, problem string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.process, e.address, e.problem = p, address, problem
}

func (e *exporter) signal(s syscall.Signal) {
	e.mu.Lock()
	p := e.process
	e.mu.Unlock()
	if p == nil {
		return
	}
	if err := p.Signal(s); err != nil {
		e.say("%s", err)
	}
}

// keep runs the exporter again and again until ctx ends, and ends it then.
func (e *exporter) keep(ctx context.Context) {
	pause := firstPause
	for ctx.Err() == nil {
		began := time.Now()
		problem := e.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > steady {
			pause = firstPause
		}
		problem = "the exporter does not run: " + problem
		e.set(nil, "", problem)
		e.say("%s; starting it again in %s", problem, pause)
		pause = wait(ctx, pause)
	}
}

// once runs the exporter until it ends by itself, which the returned words say, or ctx does.
func (e *exporter) once(ctx context.Context) string {
	address, err := freeAddress()
	if err != nil {
		return err.Error()
	}
	// A folder of this process: several could share /tmp.
	config := filepath.Join(os.TempDir(), fmt.Sprintf("gpu-dra-config-%d", os.Getpid()))
	with := tokens(address, config)
	if err := e.write(config, with); err != nil {
		return err.Error()
	}
	program, err := exec.LookPath(e.command[0])
	if err != nil {
		return err.Error()
	}
	p, err := e.start(program, fill(e.command[1:], with), fill(os.Environ(), with))
	if err != nil {
		return err.Error()
	}
	e.set(p, address, "")
	var tick <-chan time.Time
	if e.memory > 0 {
		ticker := time.NewTicker(memoryEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	for {
		select {
		case <-ctx.Done():
			e.end(p)
			return ""
		case <-p.Ended():
			// What it left behind may hold the device.
			e.kill(p)
			return p.State()
		case <-tick:
			if n := taken(p.Pid()); n > e.memory {
				e.kill(p)
				<-p.Ended()
				return fmt.Sprintf("it took %d MiB of memory, and may take %d", n>>20, e.memory>>20)
			}
		}
	}
}

// end asks the exporter to end and makes it.
func (e *exporter) end(p *reaper.Process) {
	if err := p.Signal(syscall.SIGTERM); err != nil {
		e.say("%s", err)
	}
	select {
	case <-p.Ended():
	case <-time.After(timeToEnd):
		e.say("the exporter did not end in %s and is killed", timeToEnd)
	}
	e.kill(p)
	<-p.Ended()
}

func (e *exporter) kill(p *reaper.Process) {
	if err := p.Signal(syscall.SIGKILL); err != nil {
		e.say("%s", err)
	}
}

// freeAddress is a port of the loopback that nobody listens on. It is found anew for each start, so that the pod's other
// containers lose no port but the public one to the sidecar.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}
