package templates

import (
	"context"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/controller/backoff"
)

const (
	// gatherNamespaces is how long changes of namespaces are gathered: each may concern every template.
	gatherNamespaces = 200 * time.Millisecond
	// gatherDevices is the same for devices, which only one condition speaks of.
	gatherDevices = 5 * time.Second
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// Setup adds the controller to a manager. synced is closed when every GPUNode was written.
func Setup(mgr manager.Manager, r *Reconciler, synced <-chan struct{}) error {
	c, err := controller.New("claim-templates", mgr, controller.Options{Reconciler: r, RateLimiter: backoff.Limiter(), MaxConcurrentReconciles: 2})
	if err != nil {
		return err
	}
	cache := mgr.GetCache()
	for _, s := range []source.Source{
		source.Kind(cache, &v1alpha1.GPUClaimTemplate{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.GPUClaimTemplate]{}),
		source.Kind(cache, &resourcev1.ResourceClaimTemplate{}, handler.TypedEnqueueRequestsFromMapFunc(requestOf)),
		source.Kind(cache, &corev1.Namespace{}, everyTemplate[*corev1.Namespace](r, gatherNamespaces), namespaceChanged),
		source.Kind(cache, &v1alpha1.GPUNode{}, everyTemplate[*v1alpha1.GPUNode](r, gatherDevices), devicesChanged),
		// What of a class matters here is that it is there.
		source.Kind(cache, &resourcev1.DeviceClass{}, everyTemplate[*resourcev1.DeviceClass](r, gatherNamespaces), predicate.TypedFuncs[*resourcev1.DeviceClass]{
			UpdateFunc: func(event.TypedUpdateEvent[*resourcev1.DeviceClass]) bool { return false },
		}),
		source.Func(func(ctx context.Context, q queue) error {
			go func() {
				select {
				case <-ctx.Done():
				case <-synced:
					r.enqueue(ctx, q, 0)
				}
			}()
			return nil
		}),
	} {
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	return nil
}

// requestOf the template that an object with our label was built from.
func requestOf(_ context.Context, o *resourcev1.ResourceClaimTemplate) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: o.Labels[v1alpha1.LabelClaimTemplate]}}}
}

// everyTemplate looks at all templates once events were gathered.
func everyTemplate[T client.Object](r *Reconciler, delay time.Duration) handler.TypedFuncs[T, reconcile.Request] {
	return handler.TypedFuncs[T, reconcile.Request]{
		CreateFunc: func(ctx context.Context, e event.TypedCreateEvent[T], q queue) {
			// Those of the start are seen by each template's own event.
			if !e.IsInInitialList {
				r.enqueue(ctx, q, delay)
			}
		},
		UpdateFunc: func(ctx context.Context, _ event.TypedUpdateEvent[T], q queue) { r.enqueue(ctx, q, delay) },
		DeleteFunc: func(ctx context.Context, _ event.TypedDeleteEvent[T], q queue) { r.enqueue(ctx, q, delay) },
	}
}

func (r *Reconciler) enqueue(ctx context.Context, q queue, delay time.Duration) {
	list := &v1alpha1.GPUClaimTemplateList{}
	if err := r.Client.List(ctx, list); err != nil {
		// Not in the cache yet: each template's own event is to come.
		return
	}
	for i := range list.Items {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: list.Items[i].Name}}, delay)
	}
}

// namespaceChanged drops updates that no template can see.
var namespaceChanged = predicate.TypedFuncs[*corev1.Namespace]{
	UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Namespace]) bool {
		return !maps.Equal(e.ObjectOld.Labels, e.ObjectNew.Labels) ||
			(e.ObjectOld.DeletionTimestamp == nil) != (e.ObjectNew.DeletionTimestamp == nil)
	},
}

// devicesChanged drops what of a GPUNode changes no device.
var devicesChanged = predicate.TypedFuncs[*v1alpha1.GPUNode]{
	UpdateFunc: func(e event.TypedUpdateEvent[*v1alpha1.GPUNode]) bool {
		return !equality.Semantic.DeepEqual(e.ObjectOld.Status.Devices, e.ObjectNew.Status.Devices)
	},
}
