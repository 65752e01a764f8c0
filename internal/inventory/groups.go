package inventory

import (
	"cmp"
	"slices"
	"unique"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// group is what devices must share to be counted together.
type group struct {
	driver     unique.Handle[driverFacts]
	kind       v1alpha1.DeviceKind
	deviceType string
	product    string
	partition  string
	memory     int64
}

// groupCounts sums tallies.
type groupCounts map[unique.Handle[group]]tally

func (c groupCounts) add(tallies []tally) {
	for _, t := range tallies {
		sum := c[t.group]
		sum.count += t.count
		sum.tainted += t.tainted
		c[t.group] = sum
	}
}

// compare orders groups by driver, kind (whole first), product, memory (smallest first, unknown before), then by what else
// tells them apart.
func (g group) compare(other group) int {
	return cmp.Or(
		cmp.Compare(g.driver.Value().name, other.driver.Value().name),
		cmp.Compare(kindRank(g.kind), kindRank(other.kind)),
		cmp.Compare(g.product, other.product),
		cmp.Compare(g.memory, other.memory),
		cmp.Compare(g.partition, other.partition),
		cmp.Compare(g.deviceType, other.deviceType),
	)
}

// list returns the groups in order, nil when there are none.
func (c groupCounts) list() []v1alpha1.DeviceGroup {
	type row struct {
		group
		tally
	}
	rows := make([]row, 0, len(c))
	for h, t := range c {
		rows = append(rows, row{h.Value(), t})
	}
	slices.SortFunc(rows, func(a, b row) int { return a.compare(b.group) })
	var out []v1alpha1.DeviceGroup
	for _, r := range rows {
		g := v1alpha1.DeviceGroup{
			Driver:    r.driver.Value().name,
			Kind:      r.kind,
			Type:      r.deviceType,
			Product:   r.product,
			Partition: r.partition,
			Count:     r.count,
			Tainted:   r.tally.tainted,
		}
		if r.memory != unknownMemory {
			g.Memory = quantity(r.memory)
		}
		out = append(out, g)
	}
	return out
}

func kindRank(k v1alpha1.DeviceKind) int {
	switch k {
	case v1alpha1.DeviceWhole:
		return 0
	case v1alpha1.DevicePartition:
		return 1
	case v1alpha1.DevicePassthrough:
		return 2
	default:
		return 3
	}
}
