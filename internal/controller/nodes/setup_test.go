package nodes

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

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
