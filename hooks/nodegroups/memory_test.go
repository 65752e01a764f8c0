package nodegroups

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// host is a node with eight cards and 2 TiB, less what the machine keeps for itself, as Deckhouse configures its kubelet.
func host(name string) *v1alpha1.GPUNode {
	n := node(name, 8, true)
	n.Status.Memory = hostMemory("2113260544Ki", "2068851012Ki", "")
	return n
}

func TestMemoryReservation(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.Put(nodeGroup("gpu", "u1", nil), host("a"), host("b"), w.Stack())
	w.run()
	m := w.group("gpu").Status.MemoryReservation
	require.Equal(t, "24734Mi", m.Recommended.String())
	require.Equal(t, "a", m.DecidedBy)
	require.Contains(t, m.Why, "systemNeed decides")
	require.Equal(t, "24734Mi", m.Spread.Smallest.String())
	require.Len(t, m.Breakdown, 5)
	c := w.condition("gpu", condition.MemoryReserved)
	require.Equal(t, condition.GroupMemoryAdvise, c.Reason)
	require.EqualValues(t, "False", c.Status)
	w.runQuietly()

	// Memory and cards that are lost are no reason for a Helm revision.
	before := w.ValuesGet(values.PathNodeGroups).Raw
	lost := host("b")
	lost.Status.Drivers[0].Devices.Physical = 7
	lost.Status.Memory = hostMemory("1113230544Ki", "1068821012Ki", "")
	w.Put(lost)
	w.run()
	require.Equal(t, before, w.ValuesGet(values.PathNodeGroups).Raw)

	// Nothing is known less because the controller is not there.
	w.Now = w.Now.Add(v1alpha1.HeartbeatStaleAfter + time.Second)
	w.Drop("GPUNode", "a")
	w.Drop("GPUNode", "b")
	w.run()
	require.Equal(t, before, w.ValuesGet(values.PathNodeGroups).Raw)
	require.Equal(t, m.Recommended, w.group("gpu").Status.MemoryReservation.Recommended)
	require.Equal(t, condition.GroupMemoryUnknown, w.condition("gpu", condition.MemoryReserved).Reason)
	w.runQuietly()
	w.Put(w.Stack())
	w.run()
	require.Nil(t, w.group("gpu").Status.MemoryReservation.Recommended)
}

func TestMemoryReservationOff(t *testing.T) {
	w := newWorld(t, "memoryReservation: {mode: 'Off'}\n"+strings.TrimPrefix(oneGroup, "\n"))
	w.Put(nodeGroup("gpu", "u1", nil), host("a"), w.Stack())
	w.run()
	require.Nil(t, w.group("gpu").Status.MemoryReservation)
	require.Equal(t, condition.GroupMemoryOff, w.condition("gpu", condition.MemoryReserved).Reason)
}

// The hook says beforehand what the hook `reservation` will write, and what comes with it.
func TestMemoryReservationIsAnnounced(t *testing.T) {
	w := newWorld(t, "memoryReservation: {mode: Apply}\n"+strings.TrimPrefix(oneGroup, "\n"))
	block := func(b map[string]any) map[string]any {
		return map[string]any{"kubelet": map[string]any{"resourceReservation": b}}
	}
	group := nodeGroup("gpu", "u1", block(map[string]any{"mode": "Auto"}))
	w.Put(group, host("a"), w.Stack())
	w.run()
	c := w.condition("gpu", condition.MemoryReserved)
	require.Equal(t, condition.GroupMemoryApplying, c.Reason)
	require.Contains(t, c.Message, "every kubelet of the group restarts")
	require.Equal(t, group.Object["spec"], w.nodeGroup().Object["spec"], "it writes no NodeGroup")

	w.Put(nodeGroup("gpu", "u1", block(map[string]any{"mode": "Off"})))
	w.run()
	require.Equal(t, condition.GroupMemoryReservationOff, w.condition("gpu", condition.MemoryReserved).Reason)
	odd := nodeGroup("gpu", "u1", block(map[string]any{"mode": "Auto"}))
	odd.SetAnnotations(map[string]string{reservation.AnnotationKey: "{"})
	w.Put(odd)
	w.run()
	require.Equal(t, condition.GroupMemoryBadAnnotation, w.condition("gpu", condition.MemoryReserved).Reason)
	w.runQuietly()
}

func (w *world) nodeGroup() *unstructured.Unstructured {
	return w.KubernetesGlobalResource("NodeGroup", "gpu")
}
