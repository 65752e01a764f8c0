package nodes

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gpu-dra/gpu-dra/internal/controller/observe"
	"github.com/gpu-dra/gpu-dra/internal/inventory"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

func TestNodeChanged(t *testing.T) {
	with := func(version string, labels map[string]string, memory string) *corev1.Node {
		n := node("n1", "1", labels)
		n.ResourceVersion = version
		n.Status.Capacity = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(memory)}
		return n
	}
	changed := func(a, b *corev1.Node) bool {
		return nodeChanged.Update(event.TypedUpdateEvent[*corev1.Node]{ObjectOld: a, ObjectNew: b})
	}
	require.False(t, changed(with("1", inGroup, "1Gi"), with("2", inGroup, "1024Mi")))
	require.True(t, changed(with("1", inGroup, "1Gi"), with("2", nil, "1Gi")))
	require.True(t, changed(with("1", inGroup, "1Gi"), with("2", inGroup, "2Gi")))
}

// Claims that could not be read at first are read at last: every GPUNode is looked at again, also one whose devices nobody holds.
func TestClaimsThatAreReadLate(t *testing.T) {
	slices, err := observe.NewSlices(fake.NewClientset().ResourceV1().ResourceSlices(), nil)
	require.NoError(t, err)
	cluster := fake.NewClientset()
	var may atomic.Bool
	cluster.PrependReactor("list", "resourceclaims", func(clienttesting.Action) (bool, runtime.Object, error) {
		return !may.Load(), nil, errors.New("forbidden")
	})
	claims, err := observe.NewClaims(listed{cluster.ResourceV1()}, slices)
	require.NoError(t, err)
	w := newWorld(t, node("n1", "1", inGroup), node("n2", "2", inGroup))
	w.Allocated = claims.Allocated
	for _, name := range []string{"n1", "n2"} {
		w.slices[name] = published(8)
	}
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	defer q.ShutDown()
	for _, s := range []source.Source{claims.Source(0, requestOf), claims.Once(w.enqueue)} {
		require.NoError(t, s.Start(t.Context(), q))
	}
	go func() { _ = claims.Start(t.Context()) }()
	require.Eventually(t, func() bool { return claims.Unreadable() != nil }, 10*time.Second, time.Millisecond)
	for _, name := range []string{"n1", "n2"} {
		w.step(name)
		require.Empty(t, w.allocated(name), "not known is not none")
	}
	require.Zero(t, q.Len())

	may.Store(true)
	require.Eventually(t, func() bool { return q.Len() == 2 }, 20*time.Second, 10*time.Millisecond)
	for range 2 {
		request, _ := q.Get()
		w.step(request.Name)
		q.Done(request)
	}
	require.Equal(t, "0/8", w.allocated("n1"))
	require.Equal(t, "0/8", w.allocated("n2"))
}

// listed keeps the reflector to lists and watches, which is what client-go's fake has.
type listed struct {
	resourceclient.ResourceClaimsGetter
}

func (listed) IsWatchListSemanticsUnSupported() bool { return true }

func TestRequestOf(t *testing.T) {
	require.Equal(t, []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "n1"}}}, requestOf("n1"))
	require.Empty(t, requestOf(inventory.NoNode))
}

func TestGroupsOf(t *testing.T) {
	groups := NewGroups([]settings.NodeGroup{
		{Name: "own", NodeSelector: map[string]string{"a": "1"}},
		{Name: "labelled"},
		{Name: "also", NodeSelector: map[string]string{"a": "1", "b": "2"}},
		{Name: "broken", NodeSelector: map[string]string{"no key!": "1"}},
	}, profile.Distribution{NodeGroupLabel: "group"})
	names := func(labels map[string]string) (out []string) {
		for _, g := range groups.Of(labels) {
			out = append(out, g.Name)
		}
		return out
	}
	require.Equal(t, []string{"own", "also"}, names(map[string]string{"a": "1", "b": "2"}))
	require.Equal(t, []string{"labelled"}, names(map[string]string{"group": "labelled", "a": "2"}))
	require.Empty(t, names(nil))
	require.Empty(t, NewGroups([]settings.NodeGroup{{Name: "x"}}, profile.Distribution{}).Of(map[string]string{"group": "x"}))
}

func TestPass(t *testing.T) {
	p := NewPass()
	p.Done("a")
	require.False(t, p.Over(), "it is not known yet which nodes there are")
	p.Expect([]string{"a", "b"})
	require.False(t, p.Over())
	p.Done("c")
	p.Done("b")
	require.True(t, p.Over())
	<-p.Complete()
	p.Done("d")

	p = NewPass()
	p.Expect(nil)
	require.True(t, p.Over(), "a cluster without nodes is read at once")
}
