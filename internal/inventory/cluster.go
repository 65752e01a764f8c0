package inventory

import (
	"cmp"
	"slices"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// Cluster is what a cluster has.
type Cluster struct {
	// Nodes that slices name, sorted by name.
	Nodes []Node
	ClusterWide
}

// ClusterWide is what belongs to no node.
type ClusterWide struct {
	// SharedPools have devices for all nodes or for those that a selector matches, sorted by driver and name. Their counts
	// leave out devices that name a node, which count there.
	SharedPools []v1alpha1.SharedPool
	// UnknownDrivers have slices and no profile, sorted.
	UnknownDrivers []string
	// InlineCounters are drivers with a slice, of whatever generation, in the layout of Kubernetes 1.34: counter sets beside
	// devices. Sorted, empty and not nil where there is none.
	InlineCounters []string
}

// Build puts all digests of a cluster together.
func Build(all []*Slice) *Cluster {
	out := &Cluster{ClusterWide: ClusterWide{InlineCounters: inlineCounters(all)}}
	builders := map[string]*nodeBuilder{}
	for _, p := range pools(all) {
		out.ClusterWide.add(p)
		for _, here := range p.at {
			if here.place.scope != scopeNode {
				continue
			}
			name := here.place.node.Value()
			b := builders[name]
			if b == nil {
				b = &nodeBuilder{Node: Node{Name: name}, groups: groupCounts{}}
				builders[name] = b
			}
			b.add(p, here)
		}
	}
	for _, b := range builders {
		out.Nodes = append(out.Nodes, b.finish())
	}
	slices.SortFunc(out.Nodes, func(a, b Node) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// Node returns a node of the cluster; ok is false when no slice names it.
func (c *Cluster) Node(name string) (node Node, ok bool) {
	i, ok := slices.BinarySearchFunc(c.Nodes, name, func(n Node, name string) int { return cmp.Compare(n.Name, name) })
	if !ok {
		return Node{Name: name}, false
	}
	return c.Nodes[i], true
}

// ForCluster returns what belongs to no node, from all slices of all pools with a part that names none, and at least one
// slice of each unknown driver and all slices with inline counters; other slices do no harm.
func ForCluster(all []*Slice) ClusterWide {
	out := ClusterWide{InlineCounters: inlineCounters(all)}
	for _, p := range pools(all) {
		out.add(p)
	}
	return out
}

func inlineCounters(all []*Slice) []string {
	out := []string{}
	for _, s := range all {
		if s != nil && s.inlineCounters {
			out = append(out, s.Driver())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// add takes what of a pool belongs to no node. Pools come sorted.
func (c *ClusterWide) add(p *pool) {
	if p.facts.profile == "" && (len(c.UnknownDrivers) == 0 || c.UnknownDrivers[len(c.UnknownDrivers)-1] != p.facts.name) {
		c.UnknownDrivers = append(c.UnknownDrivers, p.facts.name)
	}
	var parts []*part
	scopeName, empty := "", !p.hasDevices()
	for _, here := range p.at {
		at := here.place
		switch {
		case at.scope == scopeNode:
			continue
		case !here.devices && !empty:
			// Counter sets that all nodes see do not make the devices that consume them shared.
			continue
		case at.scope == scopeAllNodes:
			scopeName = "AllNodes"
		case at.scope == scopeSelector && scopeName == "":
			scopeName = "NodeSelector"
		}
		parts = append(parts, here.parts...)
	}
	if scopeName == "" {
		// All of it is on nodes, or has no devices, or binds them in no way that this version of the API knows.
		return
	}
	counts, _ := p.counts(parts)
	c.SharedPools = append(c.SharedPools, v1alpha1.SharedPool{PoolState: p.state(counts), Scope: scopeName})
}

// hasDevices is true when some slice of the pool is more than counter sets.
func (p *pool) hasDevices() bool {
	for _, here := range p.at {
		if here.devices {
			return true
		}
	}
	return false
}
