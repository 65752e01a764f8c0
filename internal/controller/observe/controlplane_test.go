package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

var where = profile.ControlPlanePods{Namespace: "kube-system", Label: "component"}

// listedPods is what listed is, for pods.
type listedPods struct {
	corev1client.PodsGetter
}

func (listedPods) IsWatchListSemanticsUnSupported() bool { return true }

// controlPlane starts a ControlPlane over client-go's fake clientset and waits as a controller does.
func controlPlane(t *testing.T, client *fake.Clientset) *ControlPlane {
	t.Helper()
	c, err := NewControlPlane(listedPods{client.CoreV1()}, where)
	require.NoError(t, err)
	_, err = c.Pods()
	require.ErrorIs(t, err, ErrNotRead)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	source := c.Source(&handler.TypedEnqueueRequestForObject[*corev1.Pod]{})
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	require.NoError(t, source.Start(ctx, q))
	go func() { _ = c.Start(ctx) }()
	waiting, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	require.NoError(t, source.WaitForSync(waiting))
	return c
}

func TestControlPlane(t *testing.T) {
	pod := func(namespace, name string, labels map[string]string) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: labels}, Spec: corev1.PodSpec{NodeName: "n"}}
	}
	c := controlPlane(t, fake.NewClientset(
		pod("kube-system", "kube-apiserver-a", map[string]string{"component": "kube-apiserver"}),
		pod("kube-system", "coredns", map[string]string{"app": "dns"}),
		pod("other", "kube-apiserver-b", map[string]string{"component": "kube-apiserver"})))
	pods, err := c.Pods()
	require.NoError(t, err)
	require.Len(t, pods, 1)
	require.Equal(t, "kube-apiserver-a", pods[0].Name)
	require.Empty(t, pods[0].Spec.NodeName, "cut to what is used")
}

func TestControlPlaneOutOfReach(t *testing.T) {
	client := fake.NewClientset()
	refused := errors.New("pods is forbidden")
	client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
	c := controlPlane(t, client)
	_, err := c.Pods()
	require.ErrorIs(t, err, refused, "said, and nobody waits for it")
}
