package observe

import (
	"context"
	"errors"
	"sync"

	toolscache "k8s.io/client-go/tools/cache"
)

// ErrNotRead says that something was neither read yet nor found unreadable.
var ErrNotRead = errors.New("they were not read yet")

// reachable is an informer of a fact that may be out of reach: nothing else may wait for it.
type reachable struct {
	informer toolscache.SharedIndexInformer

	mu     sync.Mutex
	err    error
	failed chan struct{}
}

// follow makes a reachable of an informer that was not started.
func follow(informer toolscache.SharedIndexInformer, transform toolscache.TransformFunc) (*reachable, error) {
	r := &reachable{informer: informer, failed: make(chan struct{})}
	return r, errors.Join(informer.SetTransform(transform), informer.SetWatchErrorHandlerWithContext(r.fail))
}

// Start runs the informer until ctx ends.
func (r *reachable) Start(ctx context.Context) error {
	r.informer.RunWithContext(ctx)
	return nil
}

func (r *reachable) fail(ctx context.Context, reflector *toolscache.Reflector, err error) {
	r.mu.Lock()
	if r.err == nil {
		close(r.failed)
	}
	r.err = err
	r.mu.Unlock()
	toolscache.DefaultWatchErrorHandler(ctx, reflector, err)
}

// doubt says why the objects could not be read, nil once they were. Then they are kept: while the API server is away, what was
// last seen stands.
func (r *reachable) doubt() error {
	if r.informer.HasSynced() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	return ErrNotRead
}

// wait returns when the objects were read, or could not be.
func (r *reachable) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-r.failed:
	case <-r.informer.HasSyncedChecker().Done():
	}
	return nil
}
