package gpunode

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// A condition with nothing to say but its reason has no message: there is one GPUNode a node, and every watcher keeps it whole.

// groupsDistinct speaks of any two groups on one node: their settings would both apply, and two kubelet plugins of one
// driver cannot share a node.
func groupsDistinct(groups []settings.NodeGroup) metav1.Condition {
	if len(groups) < 2 {
		return condition.New(condition.GroupsDistinct, metav1.ConditionTrue, condition.NodeGroupsDistinct, "")
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
	if message := partitioningDiffers(in, s); message != "" {
		return bad(condition.NodePartitioningDiffers, "%s", message)
	}
	return condition.New(condition.DevicesHealthy, metav1.ConditionTrue, condition.NodeDevicesHealthy, "")
}
