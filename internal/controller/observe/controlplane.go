package observe

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// ControlPlane follows the pods of the control plane. It has an informer of its own because these pods are a fact that may be
// out of reach, in a namespace that is not ours.
type ControlPlane struct{ *reachable }

// NewControlPlane returns the ControlPlane of a distribution. Add it to the manager, which starts it.
func NewControlPlane(client corev1client.PodsGetter, where profile.ControlPlanePods) (*ControlPlane, error) {
	pods := client.Pods(where.Namespace)
	informer := toolscache.NewSharedIndexInformer(
		toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
			ListWithContextFunc: func(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
				opts.LabelSelector = where.Label
				return pods.List(ctx, opts)
			},
			WatchFuncWithContext: func(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
				opts.LabelSelector = where.Label
				return pods.Watch(ctx, opts)
			},
		}, client),
		&corev1.Pod{}, 0, toolscache.Indexers{})
	r, err := follow(informer, transform(func(p *corev1.Pod) *corev1.Pod { return ControlPlanePod(p, where.VersionAnnotation) }))
	return &ControlPlane{r}, err
}

// Pods returns the pods, in no order, or why they could not be read. Once read they are kept: while the API server is away,
// what was last seen stands.
func (c *ControlPlane) Pods() ([]*corev1.Pod, error) {
	if err := c.doubt(); err != nil {
		return nil, err
	}
	objects := c.informer.GetStore().List()
	out := make([]*corev1.Pod, 0, len(objects))
	for _, o := range objects {
		if p, ok := o.(*corev1.Pod); ok {
			out = append(out, p)
		}
	}
	return out, nil
}

// Source gives a controller the events of the pods. The controller starts when they were read, or could not be.
func (c *ControlPlane) Source(h handler.TypedEventHandler[*corev1.Pod, reconcile.Request]) source.SyncingSource {
	return &waitingSource[*corev1.Pod]{
		name:          "pods of the control plane",
		TypedInformer: source.TypedInformer[*corev1.Pod, reconcile.Request]{Informer: c.informer, Handler: h},
		wait:          c.wait,
	}
}
