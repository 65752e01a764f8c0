package groups

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/controller/backoff"
	"github.com/gpu-dra/gpu-dra/internal/controller/observe"
)

// gather is how long events of nodes are gathered: each computation of a group looks at all nodes.
const gather = 200 * time.Millisecond

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Setup adds the controller to a manager.
func Setup(mgr manager.Manager, r *Reconciler) error {
	c, err := controller.New("node-groups", mgr, controller.Options{Reconciler: r, RateLimiter: backoff.Limiter()})
	if err != nil {
		return err
	}
	cache := mgr.GetCache()
	for _, s := range []source.Source{
		source.Kind(cache, &v1alpha1.GPUNodeGroup{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.GPUNodeGroup]{}),
		source.Kind(cache, &v1alpha1.GPUNode{}, ofNodes(), observe.FactsChanged),
		source.Kind(cache, &v1alpha1.GPUStack{}, handler.TypedEnqueueRequestsFromMapFunc(
			func(context.Context, *v1alpha1.GPUStack) []reconcile.Request { return r.all() })),
		// There may be nothing else to begin with.
		source.Func(func(_ context.Context, q queue) error {
			for _, request := range r.all() {
				q.Add(request)
			}
			return nil
		}),
	} {
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) all() []reconcile.Request {
	out := make([]reconcile.Request, len(r.Groups))
	for i, g := range r.Groups {
		out[i] = requestOf(g.Name)
	}
	return out
}

func requestOf(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

// ofNodes looks at the groups that a node is in or was in, once events were gathered.
func ofNodes() handler.TypedFuncs[*v1alpha1.GPUNode, reconcile.Request] {
	enqueue := func(q queue, nodes ...*v1alpha1.GPUNode) {
		var names []string
		for _, n := range nodes {
			names = append(names, n.Status.Groups...)
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			q.AddAfter(requestOf(name), gather)
		}
	}
	return handler.TypedFuncs[*v1alpha1.GPUNode, reconcile.Request]{
		CreateFunc: func(_ context.Context, e event.TypedCreateEvent[*v1alpha1.GPUNode], q queue) { enqueue(q, e.Object) },
		UpdateFunc: func(_ context.Context, e event.TypedUpdateEvent[*v1alpha1.GPUNode], q queue) {
			enqueue(q, e.ObjectOld, e.ObjectNew)
		},
		DeleteFunc: func(_ context.Context, e event.TypedDeleteEvent[*v1alpha1.GPUNode], q queue) { enqueue(q, e.Object) },
	}
}
