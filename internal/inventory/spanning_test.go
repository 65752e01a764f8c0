package inventory

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// One pool over many nodes: every node has its own devices, and all of them are registered or none is.
func TestPoolOverManyNodes(t *testing.T) {
	const nodes = 50
	d := NewDigester(testProfiles(t))
	yes := true
	var all []*Slice
	for half := range 2 {
		s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("half-%d", half)}}
		s.Spec.Driver = "gpu.example.com"
		s.Spec.Pool = resourcev1.ResourcePool{Name: "chassis", Generation: 1, ResourceSliceCount: 2}
		s.Spec.PerDeviceNodeSelection = &yes
		for i := range nodes {
			name := fmt.Sprintf("n%02d", i)
			// A card that both devices of the node consume, one in each slice.
			s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
				Name: fmt.Sprintf("%s-%d", name, half), NodeName: &name,
				ConsumesCounters: []resourcev1.DeviceCounterConsumption{{CounterSet: name}},
			})
		}
		all = append(all, d.Digest(s))
	}
	require.Len(t, all[0].Nodes(), nodes)

	c := Build(all)
	require.Len(t, c.Nodes, nodes)
	for _, n := range c.Nodes {
		require.True(t, n.Drivers[0].Registered)
		require.Equal(t, v1alpha1.DeviceCounts{Physical: 1, Published: 2, AllocatableWhole: 1}, n.Drivers[0].Counts)
		require.Equal(t, v1alpha1.DeviceCounts{Physical: nodes, Published: 2 * nodes, AllocatableWhole: nodes}, n.Drivers[0].Pools[0].Devices)
		require.Equal(t, n, ForNode(n.Name, all))
	}
	require.False(t, ForNode("n07", all[:1]).Drivers[0].Registered, "one slice is missing")

	ix := newIndexer()
	require.NoError(t, ix.Add(all[0]))
	touched, err := Touched(ix, all[0])
	require.NoError(t, err)
	require.Len(t, touched, nodes)
}
