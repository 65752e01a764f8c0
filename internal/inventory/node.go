package inventory

import (
	"unique"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// Node is what one node has.
type Node struct {
	// Name of the node.
	Name string
	// Drivers that have slices for the node, sorted by name.
	Drivers []Driver
	// Devices groups like devices of all drivers, sorted by driver, kind (whole first), product and memory.
	Devices []v1alpha1.DeviceGroup
}

// Driver is what one DRA driver has published on a node.
type Driver struct {
	// Name as in ResourceSlice spec.driver.
	Name string
	// Profile that describes the driver, empty when none does.
	Profile string
	// Accelerator is true when a profile says that its devices are accelerators. Where Profile is not empty and this is
	// false, Counts are zero.
	Accelerator bool
	// Registered is true when a complete pool has at least one device that names this node.
	Registered bool
	// Counts of devices that name this node, complete pools or not.
	Counts v1alpha1.DeviceCounts
	// PublishedTwice is the number of cards here whose whole device and partitions can be given out at the same time.
	PublishedTwice int32
	// Pools that name this node, with devices or without, sorted by name. Their counts are those of the whole pool, which
	// may span several nodes.
	Pools []v1alpha1.PoolState
}

// ForNode returns what a node has, from all slices of all pools that name it; other slices do no harm. It gives the same
// as Build does for that node, and a Node without drivers where nothing names it.
func ForNode(name string, all []*Slice) Node {
	b := nodeBuilder{Node: Node{Name: name}, groups: groupCounts{}}
	at := place{scope: scopeNode, node: unique.Make(name)}
	for _, p := range pools(all) {
		if here := p.presence(at); here != nil {
			b.add(p, here)
		}
	}
	return b.finish()
}

// nodeBuilder gathers one node. Pools are added sorted by driver and name.
type nodeBuilder struct {
	Node
	groups groupCounts
}

func (b *nodeBuilder) add(p *pool, here *presence) {
	last := len(b.Drivers) - 1
	if last < 0 || b.Drivers[last].Name != p.facts.name {
		b.Drivers = append(b.Drivers, Driver{Name: p.facts.name, Profile: p.facts.profile, Accelerator: p.facts.accelerator})
		last++
	}
	d := &b.Drivers[last]
	d.Pools = append(d.Pools, p.state(p.total))
	d.Registered = d.Registered || p.complete() && here.published > 0
	counts, twice := p.counts(here.parts)
	d.Counts = d.Counts.Plus(counts)
	d.PublishedTwice += twice
	for _, part := range here.parts {
		b.groups.add(part.groups)
	}
}

func (b *nodeBuilder) finish() Node {
	b.Devices = b.groups.list()
	return b.Node
}
