package fleet

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

func TestEveryModelAndCutIsPublishable(t *testing.T) {
	all, err := models()
	require.NoError(t, err)
	require.NotEmpty(t, all)
	for name, m := range all {
		for cut, parts := range m.Cuts {
			t.Run(name+"/"+cut, func(t *testing.T) {
				perCard := 0
				for _, p := range parts {
					perCard += len(p.Starts)
				}
				node := Node("gpu-0", nil)
				slices, err := m.Slices(node, Layout{Cards: 4, CutCards: 3, Cut: cut})
				require.NoError(t, err)
				require.Len(t, slices, 1)
				require.Len(t, slices[0].Spec.Devices, 3*perCard+1)
				check(t, slices[0])
			})
		}
	}
}

// check repeats the rules of an API server that a generator could break.
func check(t *testing.T, s *resourcev1.ResourceSlice) {
	t.Helper()
	require.Empty(t, validation.IsDNS1123Subdomain(s.Name))
	require.LessOrEqual(t, len(s.Spec.Devices), resourcev1.ResourceSliceMaxDevices)
	names, ids := map[string]bool{}, map[string]bool{}
	for _, d := range s.Spec.Devices {
		require.Empty(t, validation.IsDNS1123Label(d.Name))
		require.False(t, names[d.Name], d.Name)
		names[d.Name] = true
		require.LessOrEqual(t, len(d.Attributes)+len(d.Capacity), resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice)
		for name, a := range d.Attributes {
			if a.StringValue == nil {
				continue
			}
			require.LessOrEqual(t, len(*a.StringValue), resourcev1.DeviceAttributeMaxValueLength)
			require.False(t, strings.ContainsAny(*a.StringValue, "{}"), "%s: %s", name, *a.StringValue)
		}
		uuid := *d.Attributes["uuid"].StringValue
		require.False(t, ids[uuid], uuid)
		ids[uuid] = true
	}
}

func TestSlicesBelongToTheirNode(t *testing.T) {
	m, err := Load("nvidia-a100-40gb")
	require.NoError(t, err)
	node := Node("gpu-0", map[string]string{"pool": "a"})
	require.Equal(t, "a", node.Labels["pool"])

	loose, err := m.Slices(node, Layout{Cards: 8})
	require.NoError(t, err)
	require.Empty(t, loose[0].OwnerReferences)

	node.UID = types.UID("u")
	owned, err := m.Slices(node, Layout{Cards: 8})
	require.NoError(t, err)
	require.Equal(t, node.UID, owned[0].OwnerReferences[0].UID)
	require.Equal(t, loose[0].Spec, owned[0].Spec, "the same input gives the same output")
	require.Equal(t, int64(0), *owned[0].Spec.Devices[3].Attributes["resource.kubernetes.io/numaNode"].IntValue)
	require.Equal(t, int64(1), *owned[0].Spec.Devices[4].Attributes["resource.kubernetes.io/numaNode"].IntValue)
}

func TestManyDevicesTakeSeveralSlices(t *testing.T) {
	m, err := Load("nvidia-h100-80gb")
	require.NoError(t, err)
	slices, err := m.Slices(Node("big", nil), Layout{Cards: 32, CutCards: 32, Cut: "smallest"})
	require.NoError(t, err)
	require.Len(t, slices, 2)
	require.Len(t, slices[0].Spec.Devices, 128)
	require.Len(t, slices[1].Spec.Devices, 32*7-128)
	require.Equal(t, int64(2), slices[1].Spec.Pool.ResourceSliceCount)

	list := Stored(slices)
	require.Len(t, list.Items, 2)
	require.NotEqual(t, list.Items[0].UID, list.Items[1].UID)
	require.Empty(t, slices[0].UID, "the slices themselves stay as a driver sends them")
}

func TestErrors(t *testing.T) {
	_, err := Load("no-such")
	require.ErrorContains(t, err, `no model "no-such"`)
	m, err := Load("nvidia-h100-80gb")
	require.NoError(t, err)
	_, err = m.Slices(Node("n", nil), Layout{Cards: 1, CutCards: 1, Cut: "thin"})
	require.ErrorContains(t, err, `no cut "thin"`)
	broken := *m
	broken.Cuts = map[string][]Cut{"x": {{Profile: "9g"}}}
	_, err = broken.Slices(Node("n", nil), Layout{Cards: 1, CutCards: 1, Cut: "x"})
	require.ErrorContains(t, err, `no profile "9g"`)
	none, err := m.Slices(Node("n", nil), Layout{})
	require.NoError(t, err)
	require.Len(t, none, 1, "a driver that found nothing publishes an empty pool")
}
