package claim

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

const (
	mi = int64(1) << 20
	gi = int64(1) << 30
)

// shown is a size of memory for people: Gi with one digit after the point, rounded down, so that it never looks like
// enough when it is not.
func shown(q resource.Quantity) string {
	v := q.Value()
	switch {
	case v < mi:
		return q.String()
	case v < gi:
		return fmt.Sprintf("%dMi", v/mi)
	case v%gi == 0:
		return fmt.Sprintf("%dGi", v/gi)
	}
	return fmt.Sprintf("%d.%dGi", v/gi, v%gi*10/gi)
}

// proposed is the largest round size that a device of this memory satisfies.
func proposed(q resource.Quantity) string {
	v := q.Value()
	switch {
	case v < mi:
		return q.String()
	case v < gi:
		return fmt.Sprintf("%dMi", v/mi)
	}
	return fmt.Sprintf("%dGi", v/gi)
}

// nameOf is a group of devices for people.
func nameOf(g v1alpha1.DeviceGroup) string {
	name := g.Product
	if name == "" {
		name = string(g.Kind)
	}
	if g.Partition != "" {
		name += " " + g.Partition
	}
	return name
}

// productsOf and kindsOf list what there is, each once, capped.
func productsOf(devices []v1alpha1.DeviceGroup) string { return listOf(devices, nameOf) }
func kindsOf(devices []v1alpha1.DeviceGroup) string {
	return listOf(devices, func(g v1alpha1.DeviceGroup) string { return string(g.Kind) })
}

func listOf(devices []v1alpha1.DeviceGroup, name func(v1alpha1.DeviceGroup) string) string {
	names := make([]string, len(devices))
	for i := range devices {
		names[i] = name(devices[i])
	}
	slices.Sort(names)
	return some(slices.Compact(names))
}
