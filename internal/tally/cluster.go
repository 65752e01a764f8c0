package tally

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/manager"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
)

func (in Input) nodes() []Sample {
	var out []Sample
	double := map[string]int{}
	for _, group := range in.listed() {
		double[group] = 0
	}
	for i := range in.Nodes {
		if in.double(&in.Nodes[i]) {
			double[groupOf(&in.Nodes[i])]++
		}
	}
	for group, n := range double {
		out = append(out, nodesDouble.sample(float64(n), group))
	}
	for i := range in.Groups {
		n := in.Groups[i].Status.Nodes
		for state, count := range map[string]int32{"expected": n.Expected, "registered": n.Registered, "missing": n.Expected - n.Registered} {
			out = append(out, nodes.sample(float64(count), in.Groups[i].Name, state))
		}
	}
	return out
}

// double says whether a node's device plugin and one of its DRA drivers hand out the same devices.
func (in Input) double(n *v1alpha1.GPUNode) bool {
	for _, d := range n.Status.Drivers {
		if !d.Accelerator || d.Devices.Published == 0 {
			continue
		}
		if p, ok := in.Profiles.ByDriver(d.Name); ok && manager.Advertises(n.Status.PluginResources, p.PluginResources) {
			return true
		}
	}
	return false
}

// pools counts each pool once, though one that spans nodes stands in the status of each.
func (in Input) pools() []Sample {
	type key struct{ driver, name string }
	seen := map[key]bool{}
	incomplete, empty := map[string]int{}, map[string]int{}
	for _, driver := range in.wanted() {
		incomplete[driver], empty[driver] = 0, 0
	}
	add := func(p v1alpha1.PoolState) {
		k := key{p.Driver, p.Name}
		if seen[k] {
			return
		}
		seen[k] = true
		if !p.Complete {
			incomplete[p.Driver]++
			return
		}
		// Devices of drivers that have no accelerators are not counted.
		if in.accelerator(p.Driver) && p.Devices.Published == 0 {
			empty[p.Driver]++
		}
	}
	for i := range in.Nodes {
		for _, d := range in.Nodes[i].Status.Drivers {
			for _, p := range d.Pools {
				add(p)
			}
		}
	}
	if in.Stack != nil {
		for _, p := range in.Stack.Status.SharedPools {
			add(p.PoolState)
		}
	}
	var out []Sample
	for driver, n := range incomplete {
		out = append(out, poolsIncomplete.sample(float64(n), driver))
	}
	for driver, n := range empty {
		out = append(out, poolsEmpty.sample(float64(n), driver))
	}
	return out
}

func (in Input) memory() []Sample {
	var out []Sample
	cards := map[string]int64{}
	for i := range in.Groups {
		m := in.Groups[i].Status.MemoryReservation
		if m == nil {
			continue
		}
		cards[in.Groups[i].Name] = m.Cards
		if m.HeadroomBeforeSoftEviction != nil {
			out = append(out, memoryHeadroom.sample(m.HeadroomBeforeSoftEviction.AsApproximateFloat64(), in.Groups[i].Name))
		}
	}
	if in.Settings == nil {
		return out
	}
	for _, g := range in.Settings.NodeGroups {
		s := reservation.Effective(in.Settings.MemoryReservation, g.MemoryReservation)
		// With fewer cards the recommendation does not aim at it (reservation.Recommend), and nobody could do anything about a
		// headroom below it.
		aimed := cards[g.Name] > 0 && cards[g.Name] >= int64(s.MinDevices)
		if s.Mode != reservation.ModeOff && s.SystemNeed != nil && aimed {
			out = append(out, memoryNeed.sample(s.SystemNeed.AsApproximateFloat64(), g.Name))
		}
	}
	return out
}

func (in Input) conditions() []Sample {
	var out []Sample
	add := func(kind, name string, list []metav1.Condition) {
		for _, c := range list {
			out = append(out, conditions.sample(1, kind, name, c.Type, string(c.Status), c.Reason))
		}
	}
	if in.Stack != nil {
		add("GPUStack", in.Stack.Name, in.Stack.Status.Conditions)
	}
	for i := range in.Groups {
		add("GPUNodeGroup", in.Groups[i].Name, in.Groups[i].Status.Conditions)
	}
	for i := range in.Templates {
		add("GPUClaimTemplate", in.Templates[i].Name, in.Templates[i].Status.Conditions)
	}
	return out
}
