package reservation

import (
	"slices"
	"strings"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// Node is what is known of one node of a group.
type Node struct {
	Name string
	// Memory of the node, nil when it is not known.
	Memory *v1alpha1.NodeMemory
	// Cards is the largest number of physical cards seen on it.
	Cards int64
}

// NodesOf returns the nodes of a group from its GPUNodes. Nodes that are on their way out are not among them. Passive ones are:
// their kubelets read the same node group.
func NodesOf(nodes []v1alpha1.GPUNode) []Node {
	var out []Node
	for i := range nodes {
		s := &nodes[i].Status
		if s.Terminating {
			continue
		}
		out = append(out, Node{Name: nodes[i].Name, Memory: s.Memory, Cards: s.Cards()})
	}
	return out
}

// NodeNeed is the need of one node.
type NodeNeed struct {
	Node string
	Need
}

// Figure is a number of bytes and the node it comes from.
type Figure struct {
	Node  string
	Bytes int64
}

// Result is what the nodes of a group need and have. Fields that are nil are not known.
type Result struct {
	// Largest need of the group: what it is recommended to reserve. Smallest is the other end of the spread. A node on which no
	// card was seen yet has no need: its driver may not have come, and a card that is not seen is no card less.
	Largest, Smallest *NodeNeed
	// Upward is true when a node needs more than the platform reserves by itself.
	Upward bool
	// Applied is the smallest reservation measured, MostApplied the largest.
	Applied, MostApplied *Figure
	// Short is the node whose kubelet reserves less than its own need by the most, and by how much; nil when every kubelet that
	// was measured reserves enough. What is not worth a restart (rewriteAbove) is enough.
	Short *Figure
	// Headroom is the smallest of the group, with what is measured.
	Headroom *Figure
	// LeastMemory is the smallest capacity of the group, MostMemory the largest.
	LeastMemory, MostMemory *Figure
	// MostPlatform is the most that the platform reserves by itself on any node of the group, with cards or without.
	MostPlatform *Figure
	// MemoryUnknown is the first node by name whose memory is not known, empty when there is none.
	MemoryUnknown string
	// Unmeasured is the first node by name that has cards and does not tell what its kubelet reserves, empty when there is none.
	Unmeasured string
	// Nodes that were looked at.
	Nodes int
}

// Compute returns the result for the nodes of a group, in whatever order they come. Between equals, the first by name stands.
func Compute(p Platform, s settings.MemoryReservation, nodes []Node) Result {
	sorted := slices.Clone(nodes)
	slices.SortFunc(sorted, func(a, b Node) int { return strings.Compare(a.Name, b.Name) })
	r := Result{Nodes: len(sorted)}
	// Nodes of a group are mostly alike.
	type machine struct{ capacity, cards int64 }
	needs := map[machine]Need{}
	for _, n := range sorted {
		reserved, measured := p.Measured(n.Memory)
		if !measured && n.Cards > 0 && r.Unmeasured == "" {
			r.Unmeasured = n.Name
		}
		capacity, ok := capacityOf(n.Memory)
		if !ok {
			if r.MemoryUnknown == "" {
				r.MemoryUnknown = n.Name
			}
			continue
		}
		smallest(&r.LeastMemory, Figure{n.Name, capacity})
		largest(&r.MostMemory, Figure{n.Name, capacity})
		largest(&r.MostPlatform, Figure{n.Name, p.OfItself(capacity)})
		var need Need
		if n.Cards > 0 {
			m := machine{capacity, n.Cards}
			if need, ok = needs[m]; !ok {
				need = Recommend(p, s, capacity, n.Cards)
				needs[m] = need
			}
			r.add(NodeNeed{n.Name, need})
		}
		if measured {
			smallest(&r.Applied, Figure{n.Name, reserved})
			largest(&r.MostApplied, Figure{n.Name, reserved})
			smallest(&r.Headroom, Figure{n.Name, p.Headroom(capacity, reserved)})
			if short := need.Recommended - reserved; short > rewriteAbove {
				largest(&r.Short, Figure{n.Name, short})
			}
		}
	}
	return r
}

func (r *Result) add(n NodeNeed) {
	if r.Largest == nil || n.Recommended > r.Largest.Recommended {
		r.Largest = &n
	}
	if r.Smallest == nil || n.Recommended < r.Smallest.Recommended {
		r.Smallest = &n
	}
	r.Upward = r.Upward || n.By != ByPlatform
}

func smallest(f **Figure, candidate Figure) {
	if *f == nil || candidate.Bytes < (*f).Bytes {
		*f = &candidate
	}
}

func largest(f **Figure, candidate Figure) {
	if *f == nil || candidate.Bytes > (*f).Bytes {
		*f = &candidate
	}
}
