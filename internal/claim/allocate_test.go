package claim

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// staticMIG is a node with one whole card beside a card cut by its owner's own means. The whole card comes first, as a
// scheduler that takes what it finds would take it.
func staticMIG() []resourcev1.Device {
	return []resourcev1.Device{
		device("gpu-0", "gpu", withMemory("81559Mi"), withProduct("NVIDIA H100 80GB HBM3"), onRoot("pci0000:00")),
		device("gpu-1-mig-3g40gb", "mig", withMemory("40192Mi"), withProduct("NVIDIA H100 80GB HBM3"), onRoot("pci0000:80")),
		device("gpu-1-mig-1g20gb", "mig", withMemory("20096Mi"), withProduct("NVIDIA H100 80GB HBM3"), onRoot("pci0000:80")),
		device("gpu-1-mig-1g10gb", "mig", withMemory("9856Mi"), withProduct("NVIDIA H100 80GB HBM3"), onRoot("pci0000:80")),
	}
}

func TestSmallestThatFitsIsTakenInTurn(t *testing.T) {
	n := newNode(t, "nvidia", staticMIG()...)
	spec := v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", MinMemory: quantity("16Gi")}
	assert.Equal(t, []string{"gpu-1-mig-1g20gb"}, n.gets(spec))
	assert.Equal(t, []string{"gpu-1-mig-3g40gb"}, n.gets(spec))
	assert.Equal(t, []string{"gpu-0"}, n.gets(spec))
	assert.Empty(t, n.gets(spec), "the last one has less than 16Gi")
}

func TestWhatAClaimGets(t *testing.T) {
	vfio := device("gpu-vfio-0", "vfio", withCapacity("addressableMemory", "80Gi"), withProduct("NVIDIA H100 80GB HBM3"))
	withoutMemory := device("gpu-9", "gpu", withProduct("NVIDIA GB10"))
	unknown := device("gpu-8", "vgpu", withProduct("NVIDIA A16"))
	a100 := device("gpu-2", "gpu", withMemory("40Gi"), withProduct("NVIDIA A100-SXM4-40GB"), onRoot("pci0000:00"))

	for name, c := range map[string]struct {
		driver  string
		devices []resourcev1.Device
		spec    v1alpha1.GPUClaimTemplateSpec
		want    []string
	}{
		"first takes what it finds": {
			devices: staticMIG(), spec: v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("16Gi"), Fit: v1alpha1.FitFirst}, want: []string{"gpu-0"}},
		"an exact size is enough": {
			devices: staticMIG(), spec: v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("20096Mi")}, want: []string{"gpu-1-mig-1g20gb"}},
		"one byte more is not": {
			devices: staticMIG(), spec: v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("21072183297")}, want: []string{"gpu-1-mig-3g40gb"}},
		"80Gi of an 80 GB card": {
			devices: staticMIG(), spec: v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("80Gi")}},
		"more than there can be": {
			devices: staticMIG(), spec: v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("8Ei")}},
		"far more than the least": {
			devices: staticMIG()[:1], spec: v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("1Gi")}, want: []string{"gpu-0"}},
		"whole only": {
			devices: staticMIG(), spec: v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoiceWhole, MinMemory: quantity("16Gi")}, want: []string{"gpu-0"}},
		"partition only": {
			devices: staticMIG(), spec: v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoicePartition}, want: []string{"gpu-1-mig-3g40gb"}},
		"partition only, none there": {
			devices: staticMIG()[:1], spec: v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoicePartition}},
		"two of unequal size": {
			devices: staticMIG()[1:], spec: v1alpha1.GPUClaimTemplateSpec{Count: 2, MinMemory: quantity("16Gi")}, want: []string{"gpu-1-mig-3g40gb", "gpu-1-mig-1g20gb"}},
		"three of two": {
			devices: staticMIG()[1:], spec: v1alpha1.GPUClaimTemplateSpec{Count: 3, MinMemory: quantity("16Gi")}},
		"two on one root": {
			devices: append(staticMIG(), a100),
			spec:    v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoiceWhole, Count: 2, SameAttribute: v1alpha1.SamePCIeRoot}, want: []string{"gpu-0", "gpu-2"}},
		"two on two roots": {
			devices: append(staticMIG()[:1], device("gpu-3", "gpu", onRoot("pci0000:c0"))),
			spec:    v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoiceWhole, Count: 2, SameAttribute: v1alpha1.SamePCIeRoot}},
		"two of unequal size on one root, though two of like size are on two": {
			devices: append([]resourcev1.Device{a100}, staticMIG()...),
			spec:    v1alpha1.GPUClaimTemplateSpec{Count: 2, MinMemory: quantity("16Gi"), SameAttribute: v1alpha1.SamePCIeRoot}, want: []string{"gpu-2", "gpu-0"}},
		"a vfio device without memory beside": {
			devices: append([]resourcev1.Device{vfio}, staticMIG()...), spec: v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("16Gi")}, want: []string{"gpu-1-mig-1g20gb"}},
		"a vfio device asked for memory": {
			devices: []resourcev1.Device{vfio}, spec: v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoicePassthrough, MinMemory: quantity("16Gi")}},
		"a vfio device": {
			devices: append(staticMIG(), vfio), spec: v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoicePassthrough}, want: []string{"gpu-vfio-0"}},
		"whole devices without memory beside": {
			devices: append([]resourcev1.Device{withoutMemory}, staticMIG()...), spec: v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoiceWhole, MinMemory: quantity("16Gi")}, want: []string{"gpu-0"}},
		"whole devices without memory alone": {
			devices: []resourcev1.Device{withoutMemory}, spec: v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("1Gi")}},
		"whole devices without memory, none asked": {
			devices: []resourcev1.Device{withoutMemory}, spec: v1alpha1.GPUClaimTemplateSpec{}, want: []string{"gpu-9"}},
		"a type nobody knows": {
			devices: []resourcev1.Device{unknown}, spec: v1alpha1.GPUClaimTemplateSpec{}},
		"product": {
			devices: append(staticMIG(), a100), spec: v1alpha1.GPUClaimTemplateSpec{Product: "NVIDIA A100-SXM4-40GB"}, want: []string{"gpu-2"}},
		"product in the wrong case": {
			devices: append(staticMIG(), a100), spec: v1alpha1.GPUClaimTemplateSpec{Product: "Nvidia A100-SXM4-40GB"}},
		"product pattern": {
			devices: append(staticMIG(), a100), spec: v1alpha1.GPUClaimTemplateSpec{Product: "*A100*40GB"}, want: []string{"gpu-2"}},
		"product pattern is no regular expression": {
			devices: append(staticMIG(), a100), spec: v1alpha1.GPUClaimTemplateSpec{Product: "*A.00*40GB"}},
		"product of a device without one": {
			devices: []resourcev1.Device{device("gpu-7", "gpu"), a100}, spec: v1alpha1.GPUClaimTemplateSpec{Product: "*A100*"}, want: []string{"gpu-2"}},
		"a selector of the user's own": {
			devices: staticMIG(), spec: v1alpha1.GPUClaimTemplateSpec{Selectors: []string{`device.attributes["gpu.nvidia.com"].type == "mig"`, `device.capacity["gpu.nvidia.com"].memory.isLessThan(quantity("10Gi"))`}}, want: []string{"gpu-1-mig-1g10gb"}},
		"the example driver": {
			driver:  "example",
			devices: []resourcev1.Device{device("gpu-0", "", withMemory("80Gi"), withText("model", "LATEST-GPU-MODEL"))},
			spec:    v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("80Gi"), Product: "LATEST-*"}, want: []string{"gpu-0"}},
		"memory as an attribute": {
			driver:  "npu",
			devices: []resourcev1.Device{device("npu-0", "npu", withNumber("memory", 65536)), device("npu-1", "npu", withNumber("memory", 32768)), device("npu-2", "npu", withNumber("memory", 16383))},
			spec:    v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("16Gi")}, want: []string{"npu-1"}},
		"memory as an attribute that is missing": {
			driver: "npu", devices: []resourcev1.Device{device("npu-3", "npu2"), device("npu-0", "npu", withNumber("memory", 65536))},
			spec: v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("16Gi")}, want: []string{"npu-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			if c.driver == "" {
				c.driver = "nvidia"
			}
			c.spec.Driver = c.driver
			n := newNode(t, c.driver, c.devices...)
			assert.Equal(t, c.want, n.gets(c.spec))
		})
	}
}

// Possible partitions and the whole card draw on the same counters: what is taken in small pieces is no whole card any more.
func TestSmallestOfPossiblePartitions(t *testing.T) {
	part := func(d resourcev1.Device, slices string) resourcev1.Device {
		d.ConsumesCounters = []resourcev1.DeviceCounterConsumption{{CounterSet: "gpu-0", Counters: counter(slices)}}
		return d
	}
	n := newNode(t, "nvidia",
		part(device("gpu-0", "gpu", withMemory("81559Mi")), "8"),
		part(device("gpu-0-mig-3g40gb-0", "mig", withMemory("40192Mi")), "4"),
		part(device("gpu-0-mig-1g20gb-0", "mig", withMemory("20096Mi")), "2"),
		part(device("gpu-0-mig-1g20gb-2", "mig", withMemory("20096Mi")), "2"),
	)
	counters := n.slices[0].DeepCopy()
	counters.Name += "-counters"
	counters.Spec.Devices = nil
	counters.Spec.SharedCounters = []resourcev1.CounterSet{{Name: "gpu-0", Counters: counter("8")}}
	n.slices = append(n.slices, counters)
	for _, s := range n.slices {
		s.Spec.Pool.ResourceSliceCount = 2
	}
	spec := v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", MinMemory: quantity("16Gi")}
	assert.Equal(t, []string{"gpu-0-mig-1g20gb-0"}, n.gets(spec))
	assert.Equal(t, []string{"gpu-0-mig-1g20gb-2"}, n.gets(spec))
	assert.Equal(t, []string{"gpu-0-mig-3g40gb-0"}, n.gets(spec))
	assert.Empty(t, n.gets(spec))
}

func counter(slices string) map[string]resourcev1.Counter {
	return map[string]resourcev1.Counter{"memory-slices": {Value: resource.MustParse(slices)}}
}

// A claim template says nothing of how much of a device a claim takes. Of a device that may be given to several, it takes what
// the driver has as the default for each capacity, and all of a capacity without one: drivers that are known have the whole
// card there, so it is given out once. With a smaller default several claims have the card.
func TestDeviceForSeveralClaims(t *testing.T) {
	shared := func(name, takes string) resourcev1.Device {
		d := device(name, "gpu", withMemory("32Gi"), withCapacity("cores", "100"))
		d.AllowMultipleAllocations = ptr.To(true)
		if takes != "" {
			d.Capacity["memory"] = resourcev1.DeviceCapacity{Value: resource.MustParse("32Gi"),
				RequestPolicy: &resourcev1.CapacityRequestPolicy{Default: quantity(takes), ValidRange: &resourcev1.CapacityRequestPolicyRange{Min: quantity("1Gi")}}}
			delete(d.Capacity, "cores")
		}
		return d
	}
	two := v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Count: 2, MinMemory: quantity("16Gi")}
	for name, c := range map[string]struct {
		takes string
		gives [][]string
	}{
		"no default":          {gives: [][]string{{"a", "b"}, nil}},
		"all of it":           {takes: "32Gi", gives: [][]string{{"a", "b"}, nil}},
		"a part of it":        {takes: "16Gi", gives: [][]string{{"a", "b"}, {"a", "b"}, nil}},
		"as much as three of": {takes: "10Gi", gives: [][]string{{"a", "b"}, {"a", "b"}, {"a", "b"}, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			for minor, want := range map[string][][]string{"1.37": c.gives, "1.34": {{"a", "b"}, nil}} {
				v := vendor{Devices: []resourcev1.Device{shared("a", c.takes), shared("b", c.takes)}}
				n := nodeWith(t, driver(t, "nvidia"), clusters[minor], v.slice("gpu.nvidia.com"))
				for _, devices := range want {
					assert.Equal(t, devices, n.gets(two), minor)
				}
			}
		})
	}
}

// The guard is there for a reason: without it one device that lacks the key stops the pod on every node.
func TestUnguardedSelectorOfTheUserStopsThePod(t *testing.T) {
	n := newNode(t, "nvidia", append([]resourcev1.Device{device("gpu-9", "gpu")}, staticMIG()...)...)
	_, err := n.allocate(v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia",
		Selectors: []string{`device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("16Gi")) >= 0`}})
	assert.ErrorContains(t, err, "no such key: memory")
}

func TestSharingReachesTheDeviceThatIsAllocated(t *testing.T) {
	mps := &v1alpha1.Sharing{Strategy: "MPS", PinnedMemoryLimit: quantity("8Gi")}
	for name, c := range map[string]struct {
		spec    v1alpha1.GPUClaimTemplateSpec
		device  string
		request string
		kinds   []string
	}{
		"a partition out of a prioritized list": {
			v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("16Gi"), Sharing: mps}, "gpu-1-mig-1g20gb", "gpu/16gi-32gi", []string{"GpuConfig", "MigDeviceConfig"}},
		"a whole card out of a prioritized list": {
			v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("64Gi"), Sharing: mps}, "gpu-0", "gpu/64gi-128gi", []string{"GpuConfig", "MigDeviceConfig"}},
		"a partition asked for": {
			v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoicePartition, Sharing: mps}, "gpu-1-mig-3g40gb", "gpu", []string{"MigDeviceConfig"}},
		"a whole card in time slices": {
			v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoiceWhole, MinMemory: quantity("16Gi"), Sharing: &v1alpha1.Sharing{Strategy: "TimeSlicing"}}, "gpu-0", "gpu/64gi-128gi", []string{"GpuConfig"}},
	} {
		t.Run(name, func(t *testing.T) {
			c.spec.Driver = "nvidia"
			got, err := newNode(t, "nvidia", staticMIG()...).allocate(c.spec)
			require.NoError(t, err)
			require.Len(t, got.Results, 1)
			assert.Equal(t, c.device, got.Results[0].Device)
			assert.Equal(t, c.request, got.Results[0].Request)
			var kinds []string
			for _, applied := range resourceclaim.ConfigForResult(got.Config, got.Results[0]) {
				var parameters struct {
					Kind    string
					Sharing struct{ Strategy string }
				}
				require.NoError(t, json.Unmarshal(applied.Opaque.Parameters.Raw, &parameters))
				assert.Equal(t, c.spec.Sharing.Strategy, parameters.Sharing.Strategy)
				kinds = append(kinds, parameters.Kind)
			}
			assert.Equal(t, c.kinds, kinds)
		})
	}
}
