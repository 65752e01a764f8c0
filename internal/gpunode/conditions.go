package gpunode

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// registeredCondition is debounced downwards only: a driver that comes back is registered at once; one that was registered
// and is missing keeps the condition True for LossDelay.
func registeredCondition(s, prev v1alpha1.GPUNodeStatus, now time.Time) (metav1.Condition, time.Duration) {
	var expected int
	var waiting []string
	var again time.Duration
	for _, d := range s.Drivers {
		if !d.Expected {
			continue
		}
		expected++
		if d.Registered {
			continue
		}
		if d.LostSince == nil {
			r, message := neverRegistered(d)
			return condition.New(condition.Registered, metav1.ConditionFalse, r, message), 0
		}
		left := LossDelay - now.Sub(d.LostSince.Time)
		if left <= 0 {
			return condition.New(condition.Registered, metav1.ConditionFalse, condition.NodeDriverLost, fmt.Sprintf(
				"driver %s has published no complete pool here since %s; see its pod on this node and the kubelet's log",
				d.Name, d.LostSince.UTC().Format(time.RFC3339))), 0
		}
		if again == 0 || left < again {
			again = left
		}
		waiting = append(waiting, d.Name)
	}
	switch {
	case expected == 0:
		return condition.New(condition.Registered, metav1.ConditionUnknown, condition.NodeNoDriverExpected,
			"no listed node group expects a driver here; list the node's group in the setting nodeGroups"), 0
	case len(waiting) > 0:
		return condition.New(condition.Registered, metav1.ConditionTrue, condition.NodeWaitingAfterLoss, fmt.Sprintf(
			"driver %s is missing; a restart of the kubelet looks like this for up to a minute", strings.Join(waiting, ", "))), again
	}
	return condition.New(condition.Registered, metav1.ConditionTrue, condition.NodeRegistered,
		"every expected driver has published a complete pool with devices"), 0
}

func neverRegistered(d v1alpha1.NodeDriver) (string, string) {
	if len(d.Pools) == 0 {
		return condition.NodeNotPublished, fmt.Sprintf("driver %s has published nothing for this node yet; see its pod on this node", d.Name)
	}
	for _, p := range d.Pools {
		if !p.Complete {
			return condition.NodePoolIncomplete, fmt.Sprintf("pool %s of driver %s shows %d of %d slices of generation %d; the driver is still publishing, or the API server refuses a slice: see the driver's log",
				p.Name, d.Name, p.Slices, p.ExpectedSlices, p.Generation)
		}
	}
	return condition.NodeNoDevices, fmt.Sprintf("driver %s has published a pool with no device for this node; see its log for why it found none", d.Name)
}

func soleManager(s v1alpha1.GPUNodeStatus) metav1.Condition {
	if len(s.Managers) == 0 {
		return condition.New(condition.SoleManager, metav1.ConditionTrue, condition.NodeSoleManager, "no trace of another manager")
	}
	var evidence []string
	for _, m := range s.Managers {
		evidence = append(evidence, fmt.Sprintf("%s (%s)", m.Name, m.Evidence))
	}
	r, next := condition.NodeOtherManager, "remove it from this node, or set the node label "+v1alpha1.LabelPassive+"=true"
	if len(s.PluginResources) > 0 {
		r, next = condition.NodeDevicePlugin, "a device may be given out twice: take the device plugin off this node, or set the node label "+v1alpha1.LabelPassive+"=true"
	}
	return condition.New(condition.SoleManager, metav1.ConditionFalse, r, strings.Join(evidence, ", ")+"; "+next)
}

func runtimeReady(r *v1alpha1.NodeRuntime) metav1.Condition {
	switch r.CDI {
	case metav1.ConditionTrue:
		return condition.New(condition.RuntimeReady, metav1.ConditionTrue, condition.NodeCDISupported, r.ContainerRuntime+" injects CDI devices")
	case metav1.ConditionFalse:
		return condition.New(condition.RuntimeReady, metav1.ConditionFalse, condition.NodeCDIUnsupported,
			r.ContainerRuntime+" cannot inject CDI devices, so pods would start without them; upgrade to containerd 2.0 or CRI-O 1.23 or newer")
	}
	return condition.New(condition.RuntimeReady, metav1.ConditionUnknown, condition.NodeRuntimeUnknown, fmt.Sprintf(
		"container runtime %q does not tell by its version whether CDI is on; on containerd 1.7 check enable_cdi in its configuration", r.ContainerRuntime))
}

// groupsDistinct speaks of any two groups on one node: their settings would both apply, and two kubelet plugins of one
// driver cannot share a node.
func groupsDistinct(groups []settings.NodeGroup) metav1.Condition {
	if len(groups) < 2 {
		return condition.New(condition.GroupsDistinct, metav1.ConditionTrue, condition.NodeGroupsDistinct, "at most one listed node group selects this node")
	}
	var names []string
	for _, g := range groups {
		names = append(names, g.Name)
	}
	slices.Sort(names)
	return condition.New(condition.GroupsDistinct, metav1.ConditionFalse, condition.NodeGroupsOverlap, fmt.Sprintf(
		"node groups %s all select this node; narrow their nodeSelector so that each node is in one", strings.Join(names, ", ")))
}

func devicesHealthy(in Input, s v1alpha1.GPUNodeStatus) metav1.Condition {
	bad := func(r, format string, args ...any) metav1.Condition {
		return condition.New(condition.DevicesHealthy, metav1.ConditionFalse, r, fmt.Sprintf(format, args...))
	}
	for _, d := range in.Drivers {
		if d.PublishedTwice > 0 {
			return bad(condition.NodePublishedTwice, "driver %s publishes %d cards whole and in parts with nothing to link the two, so the scheduler may give out both; restart the driver's plugin after changing partitions", d.Name, d.PublishedTwice)
		}
	}
	for _, d := range s.Drivers {
		for _, p := range d.Pools {
			if p.StaleSlices > 0 {
				return bad(condition.NodeStaleSlices, "pool %s of driver %s has %d slices older than generation %d; they are not counted, the driver should remove them", p.Name, d.Name, p.StaleSlices, p.Generation)
			}
		}
		if d.Devices.Tainted > 0 {
			return bad(condition.NodeDevicesTainted, "%d devices of driver %s are tainted by it, usually for a hardware fault; see the taints in its ResourceSlices", d.Devices.Tainted, d.Name)
		}
	}
	for _, g := range s.Devices {
		if p, ok := in.Profiles.ByDriver(g.Driver); ok && g.Kind == v1alpha1.DeviceOther && p.DriverName == g.Driver {
			return bad(condition.NodeUnrecognizedTypes, "%d devices of driver %s have the type %q, which profile %s does not name; add it to the profile's types", g.Count, g.Driver, g.Type, p.Name)
		}
	}
	return condition.New(condition.DevicesHealthy, metav1.ConditionTrue, condition.NodeDevicesHealthy, "no device is tainted or published in a way that cannot be used")
}
