package inventory

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// The generators draw from few names, so that pools, cards and nodes meet.

func oneOf[T any](t *rapid.T, label string, values ...T) T {
	return rapid.SampledFrom(values).Draw(t, label)
}

func someString(t *rapid.T, label string, values ...string) resourcev1.DeviceAttribute {
	v := oneOf(t, label, values...)
	switch rapid.IntRange(0, 9).Draw(t, label+" type") {
	case 0:
		return resourcev1.DeviceAttribute{}
	case 1:
		n := int64(7)
		return resourcev1.DeviceAttribute{IntValue: &n}
	default:
		return resourcev1.DeviceAttribute{StringValue: &v}
	}
}

func drawDevice(t *rapid.T, perDevice, counters bool) resourcev1.Device {
	d := resourcev1.Device{
		Name: oneOf(t, "device", "a", "b", "c"),
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			"type":                             someString(t, "type", "gpu", "mig", "vfio", "new"),
			"uuid":                             someString(t, "uuid", "u0", "u1", "u2"),
			"parentUUID":                       someString(t, "parent", "u0", "u1", "u2"),
			"gpu.nvidia.com/profile":           someString(t, "profile", "1g", "2g"),
			"resource.kubernetes.io/pciBusID":  someString(t, "pci", "p0", "p1", "p2", ""),
			"gpu.example.com/model":            someString(t, "model", "m0", "m1"),
			"resource.kubernetes.io/pcieRoot_": {},
		},
	}
	if rapid.Bool().Draw(t, "has memory") {
		d.Capacity = map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{
			"memory": {Value: resource.MustParse(oneOf(t, "memory", "0", "-1", "40Gi", "80G"))},
		}
	}
	if counters {
		for range rapid.IntRange(0, 2).Draw(t, "consumes") {
			d.ConsumesCounters = append(d.ConsumesCounters, resourcev1.DeviceCounterConsumption{CounterSet: oneOf(t, "set", "c0", "c1", "")})
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "taint") == 0 {
		d.Taints = []resourcev1.DeviceTaint{{Key: "k", Effect: oneOf(t, "effect",
			resourcev1.DeviceTaintEffectNone, resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute)}}
	}
	if perDevice {
		d.NodeName, d.AllNodes, d.NodeSelector = drawPlace(t)
	}
	return d
}

func drawPlace(t *rapid.T) (node *string, all *bool, selector *corev1.NodeSelector) {
	yes := true
	switch rapid.IntRange(0, 6).Draw(t, "place") {
	case 0:
		return nil, &yes, nil
	case 1:
		return nil, nil, &corev1.NodeSelector{}
	case 2:
		return nil, nil, nil
	default:
		name := oneOf(t, "node", "n0", "n1", "n2")
		return &name, nil, nil
	}
}

// drawSlice draws a slice; names make it unique in a list.
func drawSlice(t *rapid.T, name string, counters bool) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	s.Spec.Driver = oneOf(t, "driver", "gpu.nvidia.com", "gpu.example.com", "compute-domain.nvidia.com", "who.knows")
	s.Spec.Pool = resourcev1.ResourcePool{
		Name:               oneOf(t, "pool", "p0", "p1"),
		Generation:         rapid.Int64Range(1, 2).Draw(t, "generation"),
		ResourceSliceCount: rapid.Int64Range(-1, 3).Draw(t, "announced"),
	}
	perDevice := rapid.IntRange(0, 2).Draw(t, "per device") == 0
	if perDevice {
		s.Spec.PerDeviceNodeSelection = &perDevice
	} else {
		s.Spec.NodeName, s.Spec.AllNodes, s.Spec.NodeSelector = drawPlace(t)
	}
	for range rapid.IntRange(0, 3).Draw(t, "devices") {
		s.Spec.Devices = append(s.Spec.Devices, drawDevice(t, perDevice, counters))
	}
	if counters {
		for range rapid.IntRange(0, 2).Draw(t, "sets") {
			s.Spec.SharedCounters = append(s.Spec.SharedCounters, resourcev1.CounterSet{Name: oneOf(t, "declared", "c0", "c1", "")})
		}
	}
	return s
}

func drawSlices(t *rapid.T, counters bool) []*resourcev1.ResourceSlice {
	var out []*resourcev1.ResourceSlice
	for i := range rapid.IntRange(0, 6).Draw(t, "slices") {
		out = append(out, drawSlice(t, fmt.Sprintf("s%d", i), counters))
	}
	return out
}
