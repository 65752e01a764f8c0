package stack

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// evidenceOfGroup begins the evidence of traces in NodeGroups.
const evidenceOfGroup = "NodeGroup "

// conflicts are the other managers, each trace once, with the number of nodes that show it. Nodes and groups that are
// passive are left to another manager on purpose: their traces are no conflict.
func conflicts(prev []v1alpha1.Conflict, in Input) []v1alpha1.Conflict {
	nodes := map[v1alpha1.Manager]int32{}
	for _, c := range in.ClusterManagers {
		key := v1alpha1.Manager{Name: c.Manager, Evidence: c.Evidence}
		nodes[key] = max(nodes[key], c.Nodes)
	}
	for _, n := range in.Nodes {
		if len(n.Status.Groups) == 0 || n.Status.Passive {
			continue
		}
		for _, m := range n.Status.Managers {
			// What differs from node to node, an amount, would make an entry of its own for each.
			m.Evidence, _, _ = strings.Cut(m.Evidence, ": ")
			nodes[m]++
		}
	}
	for _, g := range in.GroupManagers {
		if listed, passive := in.passive(g.Group); !listed || passive {
			continue
		}
		key := v1alpha1.Manager{Name: g.Name, Evidence: fmt.Sprintf("%s%s %s", evidenceOfGroup, g.Group, g.Evidence)}
		nodes[key] = max(nodes[key], nodesOf(g.Group, in.Nodes))
	}
	for _, c := range prev {
		key := v1alpha1.Manager{Name: c.Manager, Evidence: c.Evidence}
		if _, seen := nodes[key]; !seen && stillKnown(c, in) {
			nodes[key] = c.Nodes
		}
	}
	var out []v1alpha1.Conflict
	for m, count := range nodes {
		out = append(out, v1alpha1.Conflict{Manager: m.Name, Evidence: m.Evidence, Nodes: count})
	}
	slices.SortFunc(out, func(a, b v1alpha1.Conflict) int {
		return cmp.Or(cmp.Compare(a.Manager, b.Manager), cmp.Compare(a.Evidence, b.Evidence))
	})
	return out
}

// stillKnown says whether a trace that is not seen now stands because its place could not be read.
func stillKnown(c v1alpha1.Conflict, in Input) bool {
	switch {
	case !in.Synced:
		return true
	case strings.HasPrefix(c.Evidence, evidenceOfGroup):
		return in.doubt(FactNodeGroups) != ""
	}
	return c.Nodes == 0 && in.doubt(FactManagers) != ""
}

func nodesOf(group string, nodes []v1alpha1.GPUNode) int32 {
	var count int32
	for _, n := range nodes {
		if slices.Contains(n.Status.Groups, group) && !n.Status.Passive {
			count++
		}
	}
	return count
}
