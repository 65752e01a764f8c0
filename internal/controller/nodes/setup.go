package nodes

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	"github.com/gpu-dra/gpu-dra/internal/controller/observe"
	"github.com/gpu-dra/gpu-dra/internal/inventory"
)

// workers bring this many nodes up to date at a time: most of the time of one is that of its requests.
const workers = 16

// settle lets a driver publish all slices of a pool before their node is looked at.
const settle = 100 * time.Millisecond

// settleClaims lets the scheduler give out more of a node before it is looked at; pace keeps writes apart.
const settleClaims = time.Second

// Setup adds the controller to a manager.
func Setup(ctx context.Context, mgr manager.Manager, r *Reconciler, slices *observe.Slices, claims *observe.Claims) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, PodNodeIndex, PodNode); err != nil {
		return fmt.Errorf("index of pods: %w", err)
	}
	c, err := controller.New("nodes", mgr, controller.Options{Reconciler: r, RateLimiter: backoff.Limiter(), MaxConcurrentReconciles: workers})
	if err != nil {
		return err
	}
	cache := mgr.GetCache()
	for _, s := range []source.Source{
		source.Kind(cache, &corev1.Node{}, &handler.TypedEnqueueRequestForObject[*corev1.Node]{}, nodeChanged),
		source.Kind(cache, &v1alpha1.GPUNode{}, &handler.TypedEnqueueRequestForObject[*v1alpha1.GPUNode]{}),
		source.Kind(cache, &corev1.Pod{}, handler.TypedEnqueueRequestsFromMapFunc(r.requestOfPod)),
		slices.Source(settle, requestOf),
		claims.Source(settleClaims, requestOf),
		claims.Once(r.enqueue),
	} {
		if err := c.Watch(s); err != nil {
			return err
		}
	}
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return r.expect(ctx, mgr) }))
}

// enqueue looks at every node that has a GPUNode once more.
func (r *Reconciler) enqueue(ctx context.Context, q workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	list := &v1alpha1.GPUNodeList{}
	if err := r.Client.List(ctx, list); err != nil {
		// Not in the cache yet: each one's own event is to come.
		return
	}
	for i := range list.Items {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: list.Items[i].Name}}, settleClaims)
	}
}

// expect tells the Pass which nodes there are when the controller begins: Nodes, and GPUNodes whose Node has gone.
func (r *Reconciler) expect(ctx context.Context, mgr manager.Manager) error {
	var names []string
	for object, list := range map[client.Object]client.ObjectList{
		&corev1.Node{}:      &corev1.NodeList{},
		&v1alpha1.GPUNode{}: &v1alpha1.GPUNodeList{},
	} {
		// Waits until the cache holds them all.
		if _, err := mgr.GetCache().GetInformer(ctx, object); err != nil {
			return err
		}
		if err := r.Client.List(ctx, list); err != nil {
			return err
		}
		switch l := list.(type) {
		case *corev1.NodeList:
			for i := range l.Items {
				names = append(names, l.Items[i].Name)
			}
		case *v1alpha1.GPUNodeList:
			for i := range l.Items {
				names = append(names, l.Items[i].Name)
			}
		}
	}
	r.Pass.Expect(names)
	return nil
}

// nodeChanged drops updates of what is not kept of a Node: its heartbeats.
var nodeChanged = predicate.TypedFuncs[*corev1.Node]{
	UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Node]) bool {
		before, after := *e.ObjectOld, *e.ObjectNew
		before.ResourceVersion, after.ResourceVersion = "", ""
		return !equality.Semantic.DeepEqual(before, after)
	},
}

// requestOf the node that an inventory belongs to; what belongs to no node concerns no GPUNode.
func requestOf(node string) []reconcile.Request {
	if node == inventory.NoNode {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: node}}}
}

func (r *Reconciler) requestOfPod(_ context.Context, p *corev1.Pod) []reconcile.Request {
	if p.Namespace != r.Namespace || p.Spec.NodeName == "" {
		return nil
	}
	return requestOf(p.Spec.NodeName)
}
