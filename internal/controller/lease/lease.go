// Package lease lets one controller of several work at a time. It holds the lease over everything the work does, restarts of
// its parts included, and lets it go only when the work has ended.
package lease

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// Timing of a lease.
type Timing struct {
	// Duration after which others may take a lease that is not renewed.
	Duration time.Duration
	// Deadline after which a holder that could not renew stops working; shorter than Duration.
	Deadline time.Duration
	// Retry is the pause between attempts.
	Retry time.Duration
}

// Usual is the timing that Kubernetes' own components have.
var Usual = Timing{Duration: 15 * time.Second, Deadline: 10 * time.Second, Retry: 2 * time.Second}

// Lease is a Lease object that one of several processes holds.
type Lease struct {
	Namespace, Name string
	// Identity of this process, unique among those that want the lease.
	Identity string
	Timing   Timing
	// Client must not share a rate limit with the work, or a busy controller loses its lease.
	Client coordinationv1.CoordinationV1Interface
}

// Client returns a client for leases, with a limit of its own and a time limit on each request: one that hangs must not cost
// the lease.
func Client(config *rest.Config, t Timing) (coordinationv1.CoordinationV1Interface, error) {
	config = rest.AddUserAgent(rest.CopyConfig(config), "lease")
	config.RateLimiter, config.QPS, config.Burst = nil, 5, 10
	config.Timeout = max(t.Deadline/2, time.Second)
	return coordinationv1.NewForConfig(config)
}

// Hold waits for the lease, runs work while it is held, and gives it back after work returned. The context of work ends when
// ctx does or the lease is lost; in the second case Hold waits for work to return and then for the lease again, so that an
// API server that is away for a while costs no restart of the process. Hold returns nil when ctx ended, or the error of work.
func (l Lease) Hold(ctx context.Context, work func(context.Context) error) error {
	for ctx.Err() == nil {
		if err := l.once(ctx, work); err != nil {
			return err
		}
	}
	return nil
}

func (l Lease) once(ctx context.Context, work func(context.Context) error) error {
	// Not ctx itself: the elector gives the lease back when its context ends, which must be after work, not with it.
	held, giveBack := context.WithCancel(context.WithoutCancel(ctx))
	defer giveBack()
	var working atomic.Bool
	stopWaiting := context.AfterFunc(ctx, func() {
		if !working.Load() {
			giveBack()
		}
	})
	defer stopWaiting()

	done := make(chan error, 1)
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Name: l.Name,
		Lock: &resourcelock.LeaseLock{
			LeaseMeta:  metav1.ObjectMeta{Namespace: l.Namespace, Name: l.Name},
			Client:     l.Client,
			LockConfig: resourcelock.ResourceLockConfig{Identity: l.Identity},
		},
		LeaseDuration:   l.Timing.Duration,
		RenewDeadline:   l.Timing.Deadline,
		RetryPeriod:     l.Timing.Retry,
		ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(held context.Context) {
				working.Store(true)
				workCtx, cancel := context.WithCancel(held)
				defer cancel()
				defer context.AfterFunc(ctx, cancel)()
				done <- work(workCtx)
				giveBack()
			},
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return fmt.Errorf("lease %s/%s: %w", l.Namespace, l.Name, err)
	}
	elector.Run(held)
	if ctx.Err() != nil && !working.Load() {
		return nil
	}
	// The elector starts work in a goroutine of its own and ends without waiting for it.
	return <-done
}
