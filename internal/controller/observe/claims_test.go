package observe

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/claimstate"
)

// listedClaims is what listed is, for claims.
type listedClaims struct {
	resourceclient.ResourceClaimsGetter
}

func (listedClaims) IsWatchListSemanticsUnSupported() bool { return true }

func heldClaim(name, node, pool string, devices ...string) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "x", Name: name}}
	if len(devices) == 0 {
		return c
	}
	c.Status.Allocation = &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}}
	for _, d := range devices {
		c.Status.Allocation.Devices.Results = append(c.Status.Allocation.Devices.Results,
			resourcev1.DeviceRequestAllocationResult{Driver: driver, Pool: pool, Device: d})
	}
	return c
}

// claimsOf starts Claims over client-go's fake clientset and waits as a controller does.
func claimsOf(t *testing.T, client *fake.Clientset, slices *Slices) (*Claims, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	t.Helper()
	c, err := NewClaims(listedClaims{client.ResourceV1()}, slices)
	require.NoError(t, err)
	_, err = c.All()
	require.ErrorIs(t, err, ErrNotRead)
	require.NoError(t, c.Unreadable(), "being read is no fault")
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	source := c.Source(time.Millisecond, func(node string) []reconcile.Request {
		if node == "" {
			return nil
		}
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: node}}}
	})
	require.NoError(t, source.Start(t.Context(), q))
	go func() { _ = c.Start(t.Context()) }()
	waiting, stop := context.WithTimeout(t.Context(), 10*time.Second)
	defer stop()
	require.NoError(t, source.WaitForSync(waiting))
	return c, q
}

func TestClaims(t *testing.T) {
	slices, _, _ := started(t, slice("a", "n1", "n1", 1, 3), slice("b", "", "shared", 1, 2))
	client := fake.NewClientset(heldClaim("one", "n1", "n1", "d0", "d1"), heldClaim("rack", "n1", "shared", "d0"), heldClaim("waits", "", ""))
	c, q := claimsOf(t, client, slices)
	all, err := c.All()
	require.NoError(t, err)
	require.Len(t, all, 3)
	require.IsType(t, &claimstate.Claim{}, c.informer.GetStore().List()[0])
	held, err := c.Allocated("n1")
	require.NoError(t, err)
	require.Equal(t, map[string]int32{driver: 2}, held)
	held, err = c.Allocated("n2")
	require.NoError(t, err)
	require.NotNil(t, held)
	require.Empty(t, held)
	require.Equal(t, "n1", next(t, q))

	// What a claim had and what it has are both looked at.
	update := func(claim *resourcev1.ResourceClaim) {
		_, err := client.ResourceV1().ResourceClaims("x").Update(t.Context(), claim, metav1.UpdateOptions{})
		require.NoError(t, err)
	}
	update(heldClaim("one", "n2", "n2", "d0"))
	require.ElementsMatch(t, []string{"n1", "n2"}, []string{next(t, q), next(t, q)})
	require.NoError(t, client.ResourceV1().ResourceClaims("x").Delete(t.Context(), "one", metav1.DeleteOptions{}))
	require.Equal(t, "n2", next(t, q))
}

func TestClaimsOutOfReach(t *testing.T) {
	slices, _, _ := started(t)
	client := fake.NewClientset()
	refused := errors.New("resourceclaims is forbidden")
	client.PrependReactor("list", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, refused })
	c, _ := claimsOf(t, client, slices)
	_, err := c.All()
	require.ErrorIs(t, err, refused, "said, and nobody waits for it")
	require.ErrorIs(t, c.Unreadable(), refused)
	held, err := c.Allocated("n1")
	require.NoError(t, err)
	require.Nil(t, held, "not known is not none")
}

func TestFactsChanged(t *testing.T) {
	changed := func(change func(*v1alpha1.GPUNodeStatus)) bool {
		old := &v1alpha1.GPUNode{Status: v1alpha1.GPUNodeStatus{Groups: []string{"a"}}}
		next := old.DeepCopy()
		next.ResourceVersion = "2"
		change(&next.Status)
		return FactsChanged.Update(event.TypedUpdateEvent[*v1alpha1.GPUNode]{ObjectOld: old, ObjectNew: next})
	}
	require.False(t, changed(func(s *v1alpha1.GPUNodeStatus) { s.Summary.Allocated = "1/8" }))
	require.True(t, changed(func(s *v1alpha1.GPUNodeStatus) { s.Groups = nil }))
}
