package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/internal/guard"
)

const (
	// pause between two looks at the node.
	pause = 5 * time.Second
	// longestPause that errors make of it, each doubling it: an API server in trouble is not helped by every node asking.
	longestPause = 30 * time.Second
)

// clock tells the time and lets it pass.
type clock interface {
	Now() time.Time
	// Sleep returns after d, or as soon as ctx ends.
	Sleep(ctx context.Context, d time.Duration)
}

type wallClock struct{}

func (wallClock) Now() time.Time { return time.Now() }

func (wallClock) Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// watch looks at one node until it is clear.
type watch struct {
	node    string
	rules   guard.Rules
	waits   []wait
	timeout time.Duration
	// read returns the Node, nil with an error.
	read  func(ctx context.Context, name string) (*corev1.Node, error)
	clock clock
	// log gets the reasons, whenever they are others than before.
	log io.Writer
}

// run returns nil when the node is clear, errStopped when ctx ended, else the reasons why it is not.
//
// It polls: every driver needs the right to get nodes anyway, and a watch would need one more.
func (w watch) run(ctx context.Context) error {
	deadline := w.clock.Now().Add(w.timeout)
	next := pause
	var said []string
	for {
		node, err := w.read(ctx, w.node)
		if ctx.Err() != nil {
			return errStopped
		}
		reasons := guard.Reasons(guard.Input{Name: w.node, Node: node, Err: err, Rules: w.rules, Missing: missing(w.waits)})
		switch {
		case len(reasons) == 0:
			fmt.Fprintf(w.log, "node %s is clear, the driver may start\n", w.node)
			return nil
		case guard.Hopeless(err):
			return errors.New(strings.Join(reasons, "\n"))
		case !slices.Equal(reasons, said):
			said = reasons
			fmt.Fprintf(w.log, "waiting: %s\n", strings.Join(reasons, "\nwaiting: "))
		}
		left := deadline.Sub(w.clock.Now())
		if left <= 0 {
			return fmt.Errorf("not clear after %s: %s", w.timeout, strings.Join(reasons, "\n"))
		}
		if err == nil {
			next = pause
		}
		w.clock.Sleep(ctx, min(next, left))
		if err != nil {
			next = min(2*next, longestPause)
		}
	}
}
