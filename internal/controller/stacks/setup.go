package stacks

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/controller/backoff"
	"github.com/gpu-dra/gpu-dra/internal/controller/observe"
)

// gather is how long events are gathered before all of them are acted on at once: when a fleet boots, thousands of GPUNodes
// change within a minute, and each computation looks at all of them.
const gather = time.Second

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// theStack is the one request.
var theStack = reconcile.Request{NamespacedName: types.NamespacedName{Name: v1alpha1.StackName}}

// Setup adds the controller to a manager. Each receive from poke is one more reason to look.
func Setup(mgr manager.Manager, r *Reconciler, slices *observe.Slices, pods *observe.ControlPlane, poke <-chan struct{}) error {
	c, err := controller.New("stack", mgr, controller.Options{Reconciler: r, RateLimiter: backoff.Limiter()})
	if err != nil {
		return err
	}
	cache := mgr.GetCache()
	for _, s := range []source.Source{
		source.Kind(cache, &v1alpha1.GPUStack{}, later[*v1alpha1.GPUStack]()),
		source.Kind(cache, &v1alpha1.GPUNode{}, later[*v1alpha1.GPUNode](), observe.FactsChanged),
		source.Kind(cache, &resourcev1.DeviceClass{}, later[*resourcev1.DeviceClass]()),
		source.Kind(cache, &corev1.Namespace{}, later[*corev1.Namespace]()),
		// Of a Node only its group matters here, which is a label.
		source.Kind(cache, &corev1.Node{}, later[*corev1.Node](), predicate.TypedLabelChangedPredicate[*corev1.Node]{}),
		slices.Source(gather, func(string) []reconcile.Request { return []reconcile.Request{theStack} }),
		pods.Source(later[*corev1.Pod]()),
		poked(poke),
	} {
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	return nil
}

// later looks at the stack once events were gathered.
func later[T any]() handler.TypedFuncs[T, reconcile.Request] {
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(_ context.Context, _ event.TypedCreateEvent[T], q queue) { q.AddAfter(theStack, gather) },
		UpdateFunc: func(_ context.Context, _ event.TypedUpdateEvent[T], q queue) { q.AddAfter(theStack, gather) },
		DeleteFunc: func(_ context.Context, _ event.TypedDeleteEvent[T], q queue) { q.AddAfter(theStack, gather) },
	}
}

// poked looks at the stack at the start, so that there is one whatever the cluster has, and when poked.
func poked(poke <-chan struct{}) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		q.Add(theStack)
		go func() {
			for {
				select {
				case <-ctx.Done():
					return
				case <-poke:
					q.Add(theStack)
				}
			}
		}()
		return nil
	})
}
