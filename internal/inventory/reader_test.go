package inventory

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
)

// A driver that publishes by protobuf may send bytes that are no text. What is shown of a device is text; what only tells cards
// apart is kept as it came, for two such identities are two.
func TestAttributesThatAreNoText(t *testing.T) {
	device := func(name, identity string) resourcev1.Device {
		return resourcev1.Device{Name: name, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"type": {StringValue: ptr.To("amd\xffgpu")}, "productName": {StringValue: ptr.To("MI\xff300\xc3")}, "partitionProfile": {StringValue: ptr.To("SPX\xc3(")},
			"resource.kubernetes.io/pciBusID": {StringValue: ptr.To(identity)},
		}}
	}
	s := &resourcev1.ResourceSlice{}
	s.Name = "s"
	s.Spec = resourcev1.ResourceSliceSpec{
		Driver: "gpu.amd.test", NodeName: ptr.To("n"), Pool: resourcev1.ResourcePool{Name: "n", Generation: 1, ResourceSliceCount: 1},
		Devices: []resourcev1.Device{device("a", "\xfe"), device("b", "\xff")},
	}
	digest := Digest(s, testProfiles(t))
	node, ok := Build([]*Slice{digest}).Node("n")
	require.True(t, ok)
	require.Len(t, node.Devices, 1)
	g := node.Devices[0]
	for got, want := range map[string]string{g.Type: "amd\uFFFDgpu", g.Product: "MI\uFFFD300\uFFFD", g.Partition: "SPX\uFFFD("} {
		require.True(t, utf8.ValidString(got))
		require.Equal(t, want, got)
	}
	require.EqualValues(t, 2, node.Drivers[0].Counts.Physical)
	found, ok := digest.device(IDOf("a"))
	require.True(t, ok)
	require.Equal(t, g.Product, found.Product)
}
