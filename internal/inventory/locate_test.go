package inventory

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"pgregory.net/rapid"
)

func locate(t require.TestingT, ix Indexer, pool, device string) (Device, bool) {
	d, ok, err := Locate(ix, pool, IDOf(device))
	require.NoError(t, err)
	return d, ok
}

func indexed(t require.TestingT, d *Digester, slices ...*resourcev1.ResourceSlice) Indexer {
	ix := newIndexer()
	for _, s := range digestAll(d, slices) {
		require.NoError(t, ix.Add(s))
	}
	return ix
}

func TestLocate(t *testing.T) {
	d := NewDigester(testProfiles(t))
	chassis := fixture(t, "testdata/per-device.yaml")
	ix := indexed(t, d, chassis...)
	nodes := map[string]int{}
	for _, s := range chassis {
		for _, dev := range s.Spec.Devices {
			found, ok := locate(t, ix, "gpu.nvidia.com/chassis", dev.Name)
			require.True(t, ok, dev.Name)
			nodes[found.Node]++
		}
	}
	require.Equal(t, map[string]int{"left": 1, "right": 2, "": 1}, nodes, "as the row of the fixture has it")

	sick := fixture(t, "testdata/taints.yaml")
	ix = indexed(t, d, sick...)
	tainted := 0
	for _, dev := range sick[0].Spec.Devices {
		found, ok := locate(t, ix, "gpu.nvidia.com/sick", dev.Name)
		require.True(t, ok)
		if found.Tainted {
			tainted++
		}
	}
	require.Equal(t, 2, tainted)

	_, ok := locate(t, ix, "gpu.nvidia.com/sick", "no-such-device")
	require.False(t, ok)
	_, ok = locate(t, ix, "gpu.nvidia.com/elsewhere", sick[0].Spec.Devices[0].Name)
	require.False(t, ok)
	strange := fixture(t, "testdata/unknown-driver.yaml")
	_, ok = locate(t, indexed(t, d, strange...), "npu.strange.example/strange", strange[0].Spec.Devices[0].Name)
	require.False(t, ok, "of drivers that no profile knows no device is remembered")
	_, _, err := Locate(&brokenIndexer{}, "a/b", IDOf("c"))
	require.ErrorContains(t, err, "index is gone")
}

// The newest generation counts, whatever the order of the slices.
func TestLocateWhileAPoolIsReplaced(t *testing.T) {
	product := func(name string, generation int64) *resourcev1.ResourceSlice {
		node := "n"
		s := &resourcev1.ResourceSlice{}
		s.Name = fmt.Sprint(name, generation)
		s.Spec = resourcev1.ResourceSliceSpec{Driver: "gpu.nvidia.com", NodeName: &node, Pool: resourcev1.ResourcePool{Name: "n", Generation: generation}}
		s.Spec.Devices = []resourcev1.Device{{Name: "gpu-0", Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{"productName": {StringValue: &name}}}}
		return s
	}
	d := NewDigester(testProfiles(t))
	for _, ix := range []Indexer{indexed(t, d, product("old", 1), product("new", 2)), indexed(t, d, product("new", 2), product("old", 1))} {
		found, ok := locate(t, ix, "gpu.nvidia.com/n", "gpu-0")
		require.True(t, ok)
		require.Equal(t, "new", found.Product)
	}
}

// Every device of a slice is found as what it was counted as.
func TestLocateAgreesWithTheGroups(t *testing.T) {
	d := NewDigester(testProfiles(t))
	rapid.Check(t, func(t *rapid.T) {
		s := drawSlice(t, "s", true)
		for i := range s.Spec.Devices {
			s.Spec.Devices[i].Name = fmt.Sprint("d", i)
		}
		digest := d.Digest(s)
		if !digest.Accelerator() {
			return
		}
		ix := indexed(t, d, s)
		type key struct{ node, kind, product string }
		located, counted := map[key][2]int32{}, map[key][2]int32{}
		for _, dev := range s.Spec.Devices {
			found, ok := locate(t, ix, digest.PoolKey(), dev.Name)
			require.True(t, ok)
			k := key{found.Node, string(found.Kind), found.Product}
			n := located[k]
			n[0]++
			if found.Tainted {
				n[1]++
			}
			located[k] = n
		}
		for i := range digest.parts {
			for _, g := range digest.parts[i].groups {
				k := key{digest.parts[i].place.node.Value(), string(g.group.Value().kind), g.group.Value().product}
				n := counted[k]
				n[0] += g.count
				n[1] += g.tainted
				counted[k] = n
			}
		}
		require.Equal(t, counted, located)
	})
}
