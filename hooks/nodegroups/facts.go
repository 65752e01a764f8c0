package nodegroups

import (
	"cmp"
	"slices"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/tidwall/gjson"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// nodesByGroup reads every snapshot once and sorts the nodes by the groups they are in, so that the core does not walk all
// nodes again for each group.
func nodesByGroup(snapshots []pkg.Snapshot) map[string][]v1alpha1.GPUNode {
	memory := quantities{}
	nodes := make([]v1alpha1.GPUNode, 0, len(snapshots))
	for _, s := range snapshots {
		if n := memory.node(s.String()); len(n.Status.Groups) > 0 {
			nodes = append(nodes, n)
		}
	}
	byName := func(a, b v1alpha1.GPUNode) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(nodes, byName) {
		slices.SortStableFunc(nodes, byName)
	}
	out := map[string][]v1alpha1.GPUNode{}
	for i := range nodes {
		// The SDK joins the snapshots of all binding contexts of a run, so an object can be there twice.
		if i > 0 && nodes[i].Name == nodes[i-1].Name {
			continue
		}
		for _, g := range nodes[i].Status.Groups {
			out[g] = append(out[g], nodes[i])
		}
	}
	return out
}

// quantities holds what was parsed before: nodes of a cluster have a handful of different memory sizes.
type quantities map[string]*resource.Quantity

// node reads what nodeFilter left of a GPUNode: all that nodegroup.Compute reads. With encoding/json this would be most of a
// run's time at thousands of nodes. What is of another type than expected is zero: nothing here can fail.
func (q quantities) node(filtered string) v1alpha1.GPUNode {
	var n v1alpha1.GPUNode
	gjson.Parse(filtered).ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "n":
			n.Name = value.Str
		case "g":
			each(value, func(g gjson.Result) { n.Status.Groups = append(n.Status.Groups, g.Str) })
		case "p":
			n.Status.Passive = value.Type == gjson.True
		case "t":
			n.Status.Terminating = value.Type == gjson.True
		case "m":
			n.Status.Memory = q.memory(value)
		case "d":
			each(value, func(d gjson.Result) { n.Status.Drivers = append(n.Status.Drivers, driver(d)) })
		case "v":
			each(value, func(d gjson.Result) { n.Status.Devices = append(n.Status.Devices, q.devices(d)) })
		case "c":
			each(value, func(c gjson.Result) { n.Status.Conditions = append(n.Status.Conditions, verdict(c)) })
		}
		return true
	})
	return n
}

// memory is nil for a node whose memory the controller did not write.
func (q quantities) memory(fact gjson.Result) *v1alpha1.NodeMemory {
	var figures []*resource.Quantity
	each(fact, func(f gjson.Result) { figures = append(figures, q.parse(f.Str)) })
	if len(figures) != 3 || figures[0] == nil || figures[1] == nil {
		return nil
	}
	return &v1alpha1.NodeMemory{Capacity: *figures[0], Allocatable: *figures[1], HugePages: figures[2]}
}

func driver(fact gjson.Result) v1alpha1.NodeDriver {
	var d v1alpha1.NodeDriver
	fact.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "n":
			d.Name = value.Str
		case "e":
			d.Expected = value.Type == gjson.True
		case "r":
			d.Registered = value.Type == gjson.True
		case "a":
			d.Accelerator = value.Type == gjson.True
		case "h":
			d.HighWater = number(value)
		case "c":
			counts := [4]*int32{&d.Devices.Physical, &d.Devices.Published, &d.Devices.AllocatableWhole, &d.Devices.Tainted}
			i := 0
			each(value, func(c gjson.Result) {
				if i < len(counts) {
					*counts[i] = number(c)
				}
				i++
			})
		}
		return true
	})
	return d
}

func (q quantities) devices(fact gjson.Result) v1alpha1.DeviceGroup {
	var d v1alpha1.DeviceGroup
	fact.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "d":
			d.Driver = value.Str
		case "k":
			d.Kind = v1alpha1.DeviceKind(value.Str)
		case "t":
			d.Type = value.Str
		case "p":
			d.Product = value.Str
		case "a":
			d.Partition = value.Str
		case "m":
			d.Memory = q.parse(value.Str)
		case "c":
			d.Count = number(value)
		case "x":
			d.Tainted = number(value)
		}
		return true
	})
	return d
}

func verdict(fact gjson.Result) metav1.Condition {
	var c metav1.Condition
	fact.ForEach(func(key, value gjson.Result) bool {
		switch key.Str {
		case "t":
			c.Type = value.Str
		case "s":
			c.Status = metav1.ConditionStatus(value.Str)
		case "r":
			c.Reason = value.Str
		}
		return true
	})
	return c
}

// parse is nil for a memory that is not published or no quantity.
func (q quantities) parse(s string) *resource.Quantity {
	if have, ok := q[s]; ok {
		return have
	}
	q[s] = nil
	if parsed, err := resource.ParseQuantity(s); err == nil {
		q[s] = &parsed
	}
	return q[s]
}

func each(list gjson.Result, do func(gjson.Result)) {
	if list.IsArray() {
		list.ForEach(func(_, item gjson.Result) bool { do(item); return true })
	}
}

func number(value gjson.Result) int32 {
	if value.Type != gjson.Number {
		return 0
	}
	return int32(value.Num)
}
