// Package gpunode decides the status of one GPUNode: what its Node, the settings and the ResourceSlices say, and whether
// its drivers are registered, debounced. It fetches and writes nothing.
package gpunode

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// LossDelay is how long a driver that had been registered may be missing before Registered turns False. The kubelet
// wipes a node's slices when it restarts and 30 s after a driver's socket went away (kubernetes/kubernetes
// pkg/kubelet/cm/dra/manager.go), so a shorter delay would report every kubelet restart as lost hardware.
const LossDelay = 60 * time.Second

// Input is what is known of one node.
type Input struct {
	// Node; only labels, taints, deletion, addresses of capacity and nodeInfo are read.
	Node *corev1.Node
	// Groups of the settings that select the node, in any order.
	Groups []settings.NodeGroup
	// Drivers that have slices for this node now.
	Drivers []Driver
	// Devices that they publish here, sorted.
	Devices []v1alpha1.DeviceGroup
	// Allocated counts by driver the devices here that claims hold; nil while that is not known, and what was known stands.
	Allocated map[string]int32
	// Pods of drivers that gpu-dra runs on this node, by profile name.
	Pods map[string]v1alpha1.DriverPod
	// Distribution and Profiles are the data that names are looked up in.
	Distribution profile.Distribution
	Profiles     *profile.Set
}

// Driver is what one DRA driver has published on the node.
type Driver struct {
	// Name as in ResourceSlice spec.driver.
	Name string
	// Registered: a complete pool of its newest generation with at least one device here.
	Registered bool
	// Counts of devices here.
	Counts v1alpha1.DeviceCounts
	// PublishedTwice is the number of cards published whole and in parts with nothing to link the two.
	PublishedTwice int32
	// Pools with devices here, sorted by name.
	Pools []v1alpha1.PoolState
}

// Wanted says whether a node is to have a GPUNode: it is in a listed group, or a driver that a profile describes has
// slices for it.
func Wanted(in Input) bool {
	if len(in.Groups) > 0 {
		return true
	}
	return slices.ContainsFunc(in.Drivers, func(d Driver) bool {
		_, known := in.Profiles.ByDriver(d.Name)
		return known
	})
}

// Compute returns the status that follows from prev and in, and after how long it has to be computed again although
// nothing changed (0: not at all).
func Compute(prev v1alpha1.GPUNodeStatus, in Input, now time.Time) (v1alpha1.GPUNodeStatus, time.Duration) {
	out := v1alpha1.GPUNodeStatus{
		Passive:         passive(in),
		Terminating:     terminating(in),
		Memory:          memory(in.Node),
		Runtime:         nodeRuntime(in.Node),
		Devices:         in.Devices,
		PluginResources: pluginResources(in),
	}
	for _, g := range in.Groups {
		out.Groups = append(out.Groups, g.Name)
	}
	slices.Sort(out.Groups)
	out.Groups = slices.Compact(out.Groups)
	out.Managers = managers(in, out.PluginResources)
	out.Drivers = drivers(prev, in, now)

	registered, again := registeredCondition(in, out, now)
	wanted := []metav1.Condition{
		registered,
		soleManager(in, out),
		runtimeReady(out.Runtime),
		groupsDistinct(in.Groups),
		devicesHealthy(in, out),
	}
	out.Conditions = condition.Merge(prev.Conditions, wanted, now)
	out.Summary = summary(out)
	out.Summary.Allocated = allocated(prev, in, out)
	return out, sooner(again, untilForeign(out, now))
}

// drivers joins the drivers that are expected with those that have published, keeping what must outlive a wipe of the
// slices: since when a driver or its pod is missing, and the largest number of cards seen.
func drivers(prev v1alpha1.GPUNodeStatus, in Input, now time.Time) []v1alpha1.NodeDriver {
	byName := map[string]*v1alpha1.NodeDriver{}
	for _, g := range in.Groups {
		for _, name := range g.Drivers {
			if p, ok := in.Profiles.ByName(name); ok {
				byName[p.DriverName] = &v1alpha1.NodeDriver{Name: p.DriverName, Expected: true}
			}
		}
	}
	twice := map[string]bool{}
	for _, d := range in.Drivers {
		nd := byName[d.Name]
		if nd == nil {
			nd = &v1alpha1.NodeDriver{Name: d.Name}
			byName[d.Name] = nd
		}
		nd.Registered, nd.Devices, nd.Pools = d.Registered, d.Counts, d.Pools
		twice[d.Name] = d.PublishedTwice > 0
	}
	out := make([]v1alpha1.NodeDriver, 0, len(byName))
	for _, nd := range byName {
		if p, ok := in.Profiles.ByDriver(nd.Name); ok {
			nd.Profile = p.Name
			nd.Accelerator = p.DriverName == nd.Name
			if pod, ok := in.Pods[p.Name]; ok && nd.Accelerator {
				nd.Pod = &pod
			}
		}
		carryOver(nd, prev, now)
		out = append(out, *nd)
	}
	slices.SortFunc(out, func(a, b v1alpha1.NodeDriver) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

func carryOver(nd *v1alpha1.NodeDriver, prev v1alpha1.GPUNodeStatus, now time.Time) {
	if !nd.Expected {
		return
	}
	i := slices.IndexFunc(prev.Drivers, func(p v1alpha1.NodeDriver) bool { return p.Name == nd.Name })
	if i >= 0 {
		before := prev.Drivers[i]
		nd.HighWater = before.HighWater
		nd.PodGoneSince = podGone(*nd, before, now)
		if !nd.Registered {
			switch {
			case before.LostSince != nil:
				nd.LostSince = before.LostSince
			case before.Registered:
				nd.LostSince = wholeSecond(now)
			}
		}
	}
	if nd.Registered {
		nd.HighWater = max(nd.HighWater, nd.Devices.Physical)
	}
}

// Values of the node label LabelPassive, as a person may write them; any other says nothing, and the group's setting stands.
// The DaemonSets of the drivers select nodes by the same words: a node is never passive here and active there.
var (
	PassiveYes = []string{"true", "True", "yes", "1"}
	PassiveNo  = []string{"false", "False", "no", "0"}
)

func passive(in Input) bool {
	switch label := in.Node.Labels[v1alpha1.LabelPassive]; {
	case slices.Contains(PassiveYes, label):
		return true
	case slices.Contains(PassiveNo, label):
		return false
	}
	return slices.ContainsFunc(in.Groups, func(g settings.NodeGroup) bool { return g.Passive })
}

func terminating(in Input) bool {
	if in.Node.DeletionTimestamp != nil {
		return true
	}
	return slices.ContainsFunc(in.Node.Spec.Taints, func(t corev1.Taint) bool {
		return slices.Contains(in.Distribution.TerminatingTaints, t.Key)
	})
}

func summary(s v1alpha1.GPUNodeStatus) v1alpha1.NodeSummary {
	var names []string
	var total v1alpha1.DeviceCounts
	for _, d := range s.Drivers {
		if d.Accelerator {
			names = append(names, d.Name)
			total = total.Plus(d.Devices)
		}
	}
	known := slices.DeleteFunc(slices.Clone(s.Devices), func(g v1alpha1.DeviceGroup) bool { return !slices.Contains(names, g.Driver) })
	return v1alpha1.NodeSummary{
		Groups:  strings.Join(s.Groups, ","),
		Drivers: strings.Join(names, ","),
		Devices: DevicesText(total, known),
	}
}

// allocated is the text of the column: devices of accelerators that claims hold, of those that are published. It may be more
// than all while a driver that is on its way back has published nothing.
func allocated(prev v1alpha1.GPUNodeStatus, in Input, s v1alpha1.GPUNodeStatus) string {
	if in.Allocated == nil {
		return prev.Summary.Allocated
	}
	var held, published int32
	for _, d := range s.Drivers {
		if d.Accelerator {
			held += in.Allocated[d.Name]
			published += d.Devices.Published
		}
	}
	if held+published == 0 {
		return ""
	}
	return fmt.Sprintf("%d/%d", held, published)
}

// SameFacts says whether two statuses differ in nothing but the column ALLOCATED, which changes with every pod and which no
// verdict rests on.
func SameFacts(a, b v1alpha1.GPUNodeStatus) bool {
	a.Summary.Allocated, b.Summary.Allocated = "", ""
	return equality.Semantic.DeepEqual(a, b)
}
