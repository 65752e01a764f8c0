// Package supervisor runs the module's controller as a process with exactly the rights
// its chart gives it, as a kubelet would run its Pod: the Deployment's arguments, its
// ServiceAccount's token, the files of its ConfigMaps.
//
// The Pod of that Deployment exists as well and kwok calls it Running, but nothing is
// executed for it: this process is what really works.
package supervisor

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/kubeconfig"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/process"
)

const (
	// pollInterval is far below what a kubelet takes to notice a changed ConfigMap: tests
	// wait for it.
	pollInterval = 500 * time.Millisecond
	stopGrace    = 10 * time.Second

	firstBackoff = 500 * time.Millisecond
	maxBackoff   = 10 * time.Second
	// calm is how long a process must have run for its next crash to count as the first.
	calm = time.Minute
)

// Supervisor keeps one process running as the Deployment says.
type Supervisor struct {
	Client     kubernetes.Interface
	Server     kubeconfig.Server
	Namespace  string
	Deployment string
	// Binary is the program in place of the container's image.
	Binary string
	Paths  Paths
	// Mark is put into the process's environment.
	Mark string
	// Ports are free loopback ports for its listeners.
	Ports []int
	Say   func(format string, args ...any)

	status  Status
	current *running
	token   token
	// desired is the hash of what current was started with.
	desired  string
	backoff  time.Duration
	notUntil time.Time
}

type running struct {
	id      process.Identity
	started time.Time
	ended   chan error
}

// Run supervises until ctx ends, and then ends the process gracefully.
func (s *Supervisor) Run(ctx context.Context) error {
	s.backoff = firstBackoff
	s.Say("supervises Deployment %s/%s with %s", s.Namespace, s.Deployment, s.Binary)
	ticker := time.NewTicker(pollInterval)
	defer ticker.Stop()
	for {
		if err := s.step(ctx); err != nil && ctx.Err() == nil {
			return err
		}
		var ended chan error
		if s.current != nil {
			ended = s.current.ended
		}
		select {
		case <-ctx.Done():
			s.end("the supervisor is stopped")
			return s.save(Stopped, "the supervisor was stopped")
		case err := <-ended:
			s.crashed(err)
		case <-ticker.C:
		}
	}
}

// step brings the process nearer to what the Deployment asks for. Its error ends the
// supervisor; what may pass by itself is only said in the status.
func (s *Supervisor) step(ctx context.Context) error {
	plan, hash, err := s.plan(ctx)
	var absent *absentError
	switch {
	case errors.As(err, &absent):
		s.end(absent.Error())
		return s.save(Waiting, absent.Error())
	case err != nil:
		// A running container outlives an API server that is away and a ConfigMap that is
		// missing; only a start needs them.
		if s.current != nil {
			return s.save(Running, "cannot be compared with the Deployment now: "+err.Error())
		}
		return s.save(Waiting, err.Error())
	}
	if s.current != nil && s.desired != hash {
		s.end("its Deployment, ConfigMaps or ServiceAccount changed")
	}
	if s.current == nil && time.Now().Before(s.notUntil) {
		return s.save(BackOff, fmt.Sprintf("ended with %q, starts again at %s", s.status.LastExit, s.notUntil.UTC().Format(time.TimeOnly)))
	}
	if err := s.refreshToken(ctx, plan.ServiceAccount); err != nil {
		if s.current == nil {
			return s.save(Waiting, err.Error())
		}
		s.Say("%v", err)
	}
	if s.current != nil {
		return s.save(Running, "")
	}
	if err := s.Paths.writeVolumes(plan); err != nil {
		return err
	}
	if err := kubeconfig.WithTokenFile(s.Paths.Kubeconfig(), s.Server, s.Namespace, s.Paths.token()); err != nil {
		return err
	}
	args := append([]string{filepath.Base(s.Binary)}, plan.Args...)
	id, cmd, err := process.Start(process.Spec{Path: s.Binary, Args: args, Mark: s.Mark, Log: s.Paths.Log, Dir: s.Paths.Root,
		Env: append(plan.Env, "KUBECONFIG="+s.Paths.Kubeconfig())})
	if err != nil {
		return err
	}
	s.started(id, cmd)
	s.desired = hash
	s.status.Starts++
	s.status.Plan = plan
	s.Say("started process %d (start %d): %q", id.PID, s.status.Starts, args)
	return s.save(Running, "")
}

func (s *Supervisor) started(id process.Identity, cmd *exec.Cmd) {
	s.current = &running{id: id, started: time.Now(), ended: make(chan error, 1)}
	ended := s.current.ended
	go func() { ended <- cmd.Wait() }()
}

// end stops the process as a kubelet does, with a SIGTERM first.
func (s *Supervisor) end(reason string) {
	if s.current == nil {
		return
	}
	s.Say("ends process %d: %s", s.current.id.PID, reason)
	if err := s.current.id.Stop(stopGrace); err != nil {
		s.Say("%v", err)
	}
	s.status.LastExit = reason
	s.current = nil
	s.notUntil, s.backoff = time.Time{}, firstBackoff
}

func (s *Supervisor) crashed(err error) {
	if time.Since(s.current.started) > calm {
		s.backoff = firstBackoff
	}
	s.status.LastExit = "exit status 0"
	if err != nil {
		s.status.LastExit = err.Error()
	}
	s.Say("process %d ended by itself: %s; the next start is in %v", s.current.id.PID, s.status.LastExit, s.backoff)
	s.current = nil
	s.notUntil = time.Now().Add(s.backoff)
	s.backoff = min(2*s.backoff, maxBackoff)
}
