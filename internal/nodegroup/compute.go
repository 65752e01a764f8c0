// Package nodegroup decides the verdict on one node group: GPUNodeGroup status. The hook and, where no hooks run, the
// controller call it with the same facts and get the same status. It fetches and writes nothing.
package nodegroup

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// maxMissing caps the names of missing nodes in the status: an outage of a big group must not make a big object.
const maxMissing = 10

// Lookup is how the read of the Deckhouse NodeGroup went.
type Lookup int

// Outcomes of a Lookup. NotLookedUp is the outcome where no hooks run.
const (
	NotLookedUp Lookup = iota
	Found
	NotFound
	KindAbsent
	Unreadable
)

// Platform is what the platform's own object of the group says.
type Platform struct {
	// Lookup of the NodeGroup.
	Lookup Lookup
	// Message of the error when Unreadable.
	Message string
	// UID of the NodeGroup when Found.
	UID string
	// Managers are traces of other managers in the NodeGroup.
	Managers []v1alpha1.Manager
	// Taints that the platform puts on the group's nodes.
	Taints []corev1.Taint
	// KubeletRootDir of the group's kubelets; empty: not said.
	KubeletRootDir string
	// NodeGroup is what it says of kubelet memory when Found.
	NodeGroup reservation.NodeGroup
}

// Input is what is known of one group.
type Input struct {
	Group settings.NodeGroup
	// MemoryReservation of the whole cluster; what differs for the group stands in Group. Without a mode, the caller has no
	// settings of it, and nothing is said about memory.
	MemoryReservation settings.MemoryReservation
	Platform          Platform
	// Hooks is true where gpu-dra is a Deckhouse module. Only its hooks write NodeGroups; elsewhere Apply is Advise.
	Hooks bool
	// Nodes are all GPUNodes; those of the group are picked by status.groups.
	Nodes []v1alpha1.GPUNode
	// Stack is the GPUStack's status, nil before the controller wrote one.
	Stack *v1alpha1.GPUStackStatus
	// SettingsHash of the settings that the group comes from.
	SettingsHash string
	Distribution profile.Distribution
	Profiles     *profile.Set
}

// Compute returns the status of the group. Counts are what the GPUNodes say now; Ready rests on their debounced conditions.
func Compute(prev v1alpha1.GPUNodeGroupStatus, in Input, now time.Time) v1alpha1.GPUNodeGroupStatus {
	var out v1alpha1.GPUNodeGroupStatus
	members := members(in)
	out.Nodes = countNodes(members)
	out.Drivers = countDrivers(in, members)
	out.Devices = sumDevices(members, out.Drivers)
	for i := range members {
		out.DevicesPerNode = max(out.DevicesPerNode, int32(min(members[i].Status.Cards(), math.MaxInt32)))
	}
	fresh, _, _ := controllerFresh(in, now)
	if !fresh {
		// Not a guess downwards while the facts are in doubt: GPUNodes may be missing because nobody wrote them yet.
		out.DevicesPerNode = max(out.DevicesPerNode, prev.DevicesPerNode)
	}
	memory := in.memory(members, now)
	out.MemoryReservation = memory.status(prev.MemoryReservation)
	out.Summary = summary(out)
	conditions := conditions(in, out, members, now)
	if memory.Said() {
		conditions = append(conditions, memory.condition())
	}
	out.Conditions = condition.Merge(prev.Conditions, conditions, now)
	return out
}

func members(in Input) []v1alpha1.GPUNode {
	var out []v1alpha1.GPUNode
	for _, n := range in.Nodes {
		if slices.Contains(n.Status.Groups, in.Group.Name) {
			out = append(out, n)
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.GPUNode) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func expected(n v1alpha1.GPUNode) bool { return !n.Status.Passive && !n.Status.Terminating }

func countNodes(members []v1alpha1.GPUNode) v1alpha1.NodeCounts {
	var c v1alpha1.NodeCounts
	for _, n := range members {
		c.Total++
		if !expected(n) {
			continue
		}
		c.Expected++
		r := condition.Find(n.Status.Conditions, condition.Registered)
		switch {
		case r != nil && r.Status == metav1.ConditionTrue:
			c.Registered++
		case len(c.Missing) < maxMissing:
			why := condition.NodeNotPublished
			if r != nil {
				why = r.Reason
			}
			c.Missing = append(c.Missing, v1alpha1.MissingNode{Name: n.Name, Reason: why})
		default:
			c.MissingNotShown++
		}
	}
	return c
}

func countDrivers(in Input, members []v1alpha1.GPUNode) []v1alpha1.GroupDriver {
	byName := map[string]*v1alpha1.GroupDriver{}
	for _, name := range in.Group.Drivers {
		if p, ok := in.Profiles.ByName(name); ok {
			byName[p.DriverName] = &v1alpha1.GroupDriver{Name: p.DriverName, Profile: p.Name}
		}
	}
	for _, n := range members {
		for _, d := range n.Status.Drivers {
			g := byName[d.Name]
			if g == nil {
				continue
			}
			if d.Registered && expected(n) {
				g.Nodes++
			}
			g.Devices = g.Devices.Plus(d.Devices)
		}
	}
	out := make([]v1alpha1.GroupDriver, 0, len(byName))
	for _, g := range byName {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b v1alpha1.GroupDriver) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// sumDevices sums the devices of the group's own drivers: what others publish on its nodes is shown by GPUNodes.
func sumDevices(members []v1alpha1.GPUNode, drivers []v1alpha1.GroupDriver) []v1alpha1.DeviceGroup {
	own := func(name string) bool {
		return slices.ContainsFunc(drivers, func(d v1alpha1.GroupDriver) bool { return d.Name == name })
	}
	type key struct {
		driver, kind, deviceType, product, partition string
		memory                                       int64
	}
	of := func(g v1alpha1.DeviceGroup) key {
		k := key{driver: g.Driver, kind: string(g.Kind), deviceType: g.Type, product: g.Product, partition: g.Partition, memory: -1}
		if g.Memory != nil {
			k.memory = g.Memory.Value()
		}
		return k
	}
	index := map[key]int{}
	var out []v1alpha1.DeviceGroup
	for _, n := range members {
		for _, g := range n.Status.Devices {
			if !own(g.Driver) {
				continue
			}
			k := of(g)
			if i, ok := index[k]; ok {
				out[i].Count += g.Count
				out[i].Tainted += g.Tainted
				continue
			}
			index[k] = len(out)
			out = append(out, g)
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.DeviceGroup) int {
		x, y := of(a), of(b)
		return cmp.Or(cmp.Compare(x.driver, y.driver), cmp.Compare(x.kind, y.kind), cmp.Compare(x.deviceType, y.deviceType),
			cmp.Compare(x.product, y.product), cmp.Compare(x.memory, y.memory), cmp.Compare(x.partition, y.partition))
	})
	return out
}

func summary(s v1alpha1.GPUNodeGroupStatus) v1alpha1.GroupSummary {
	var names []string
	var total v1alpha1.DeviceCounts
	for _, d := range s.Drivers {
		names = append(names, d.Name)
		total = total.Plus(d.Devices)
	}
	return v1alpha1.GroupSummary{
		Drivers: strings.Join(names, ","),
		Nodes:   fmt.Sprintf("%d/%d", s.Nodes.Registered, s.Nodes.Expected),
		Devices: gpunode.DevicesText(total, s.Devices),
	}
}
