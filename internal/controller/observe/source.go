package observe

import (
	"context"
	"time"

	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// newSource gives a controller the requests that toRequests makes of the nodes that touched names for what was added, changed or
// removed, after a delay. An update for which changed is false is dropped. The controller starts when wait returns.
func newSource[T client.Object](name string, informer toolscache.SharedIndexInformer, wait func(context.Context) error, delay time.Duration,
	toRequests func(node string) []reconcile.Request, touched func(...T) []string, changed func(before, after T) bool) source.SyncingSource {
	enqueue := func(q queue, objects ...T) {
		for _, node := range touched(objects...) {
			for _, r := range toRequests(node) {
				q.AddAfter(r, delay)
			}
		}
	}
	return &waitingSource[T]{
		name: name,
		TypedInformer: source.TypedInformer[T, reconcile.Request]{
			Informer: informer,
			Handler: handler.TypedFuncs[T, reconcile.Request]{
				CreateFunc: func(_ context.Context, e event.TypedCreateEvent[T], q queue) { enqueue(q, e.Object) },
				UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[T], q queue) { enqueue(q, e.ObjectOld, e.ObjectNew) },
				DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[T], q queue) { enqueue(q, e.Object) },
			},
			Predicates: []predicate.TypedPredicate[T]{predicate.TypedFuncs[T]{
				UpdateFunc: func(e event.TypedUpdateEvent[T]) bool { return changed(e.ObjectOld, e.ObjectNew) },
			}},
		},
		wait: wait,
	}
}

// waitingSource is the source of an informer that no controller-runtime cache runs: its controller waits for it as for others.
type waitingSource[T any] struct {
	source.TypedInformer[T, reconcile.Request]
	name string
	wait func(context.Context) error
}

// String is the source's name in the log.
func (s *waitingSource[T]) String() string { return s.name }

// WaitForSync returns when the controller may start.
func (s *waitingSource[T]) WaitForSync(ctx context.Context) error { return s.wait(ctx) }
