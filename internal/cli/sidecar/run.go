package sidecar

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"github.com/gpu-dra/gpu-dra/internal/lastsample"
	"github.com/gpu-dra/gpu-dra/internal/reaper"
)

const (
	// firstPause and longestPause before an exporter, or a listener, is tried again.
	firstPause   = time.Second
	longestPause = 30 * time.Second
	// steady is how long an exporter runs to count as one that works.
	steady = time.Minute
	// timeToEnd is given to answers that are under way, and after them to the exporter once it has SIGTERM: both have to fit what
	// is left then, with time to exit in.
	timeToEnd = lastsample.Reserve/2 - 50*time.Millisecond
)

// runner runs one exporter until the sidecar ends.
type runner struct {
	options
	command []string
	start   func(path string, args, env []string) (*reaper.Process, error)
	signals <-chan os.Signal
	log     io.Writer
}

func (r *runner) say(format string, args ...any) {
	fmt.Fprintf(r.log, "gpu-dra sidecar: "+format+"\n", args...)
}

// run returns when the sidecar has ended, which it does only when it was told to.
func (r *runner) run() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	gate := lastsample.NewGate(r.Timing)
	e := newExporter(r)
	server := &http.Server{Handler: lastsample.Handler(gate, r.path, e), ReadHeaderTimeout: 10 * time.Second}
	go r.serve(ctx, server)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.keep(ctx)
	}()
	for s := range r.signals {
		if s != syscall.SIGTERM && s != syscall.SIGINT {
			e.signal(s.(syscall.Signal))
			continue
		}
		break
	}
	r.await(gate, e)
	leave, done := context.WithTimeout(context.Background(), timeToEnd)
	defer done()
	// It waits for answers under way: the last sample may be one.
	if err := server.Shutdown(leave); err != nil {
		r.say("an answer was under way after %s: %s", timeToEnd, err)
	}
	stop()
	<-ended
}

// await returns when the last sample was taken, cannot be, or time is up.
func (r *runner) await(gate *lastsample.Gate, e *exporter) {
	now := time.Now()
	until := gate.Tell(now)
	if _, problem := e.Address(); problem != "" {
		r.say("ending without a last sample: %s", problem)
		return
	}
	r.say("the work of the pod is over; waiting up to %s for the last sample", until.Sub(now).Round(100*time.Millisecond))
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	for {
		select {
		case <-gate.Open():
			r.say("the last sample was taken after %s", time.Since(now).Round(time.Millisecond))
			return
		case <-timer.C:
			r.say("nobody took the last sample in time: %d awaited", gate.Awaited())
			return
		case s := <-r.signals:
			if s == syscall.SIGTERM || s == syscall.SIGINT {
				r.say("told twice; ending")
				return
			}
			e.signal(s.(syscall.Signal))
		}
	}
}

// serve answers on the public port. A port that is taken is tried again: a sidecar that ends holds the engine up.
func (r *runner) serve(ctx context.Context, server *http.Server) {
	pause := firstPause
	for ctx.Err() == nil {
		listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", r.listen)
		if err == nil {
			err = server.Serve(listener)
		}
		if err == http.ErrServerClosed || ctx.Err() != nil {
			return
		}
		r.say("metrics cannot be served: %s; trying again in %s", err, pause)
		pause = wait(ctx, pause)
	}
}

// wait lets a pause pass and returns the next.
func wait(ctx context.Context, pause time.Duration) time.Duration {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return min(2*pause, longestPause)
}
