package nodegroup

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
)

const (
	yes     = metav1.ConditionTrue
	no      = metav1.ConditionFalse
	unknown = metav1.ConditionUnknown
)

func conditions(in Input, s v1alpha1.GPUNodeGroupStatus, members []v1alpha1.GPUNode, now time.Time) []metav1.Condition {
	out := []metav1.Condition{
		ready(in, s, members, now),
		devicesExpected(in, members),
		soleManager(in, members),
		fromNodes(members, condition.GroupsDistinct, condition.GroupDistinct, condition.GroupOverlap,
			"no node is in two listed groups", "are in more than one listed group"),
		fromNodes(members, condition.DevicesHealthy, condition.GroupDevicesHealthy, condition.GroupDevicesUnhealthy,
			"every node's devices are healthy", "have devices that are tainted, cannot be used as published or are not cut as the settings say"),
		runtimeReady(members),
	}
	if in.Platform.Lookup != NotLookedUp {
		out = append(out, nodeGroupFound(in))
	}
	return out
}

// controllerFresh says whether GPUNodes and GPUStack can be trusted: the controller has read the whole cluster, it is
// alive, and it runs with the settings this group comes from.
func controllerFresh(in Input, now time.Time) (ok bool, reason, message string) {
	switch s := in.Stack; {
	case s == nil || !s.Synced || s.Heartbeat == nil:
		return false, condition.GroupControllerNotSynced, "the controller has not read the whole cluster yet; if this lasts, see the log of Deployment controller"
	case now.Sub(s.Heartbeat.Time) > v1alpha1.HeartbeatStaleAfter:
		return false, condition.GroupControllerStale, fmt.Sprintf("the controller's last heartbeat is of %s; see Deployment controller", s.Heartbeat.UTC().Format(time.RFC3339))
	case s.SettingsHash != in.SettingsHash:
		return false, condition.GroupSettingsNotSeen, "the controller still runs with other settings; it reads new ones within a minute of a release"
	}
	return true, "", ""
}

func ready(in Input, s v1alpha1.GPUNodeGroupStatus, members []v1alpha1.GPUNode, now time.Time) metav1.Condition {
	is := func(status metav1.ConditionStatus, r, format string, args ...any) metav1.Condition {
		return condition.New(condition.Ready, status, r, fmt.Sprintf(format, args...))
	}
	// What is wrong with the settings themselves goes before doubts about the controller: a release that is refused for it never
	// reaches the controller.
	for i, name := range in.Group.Drivers {
		if _, known := in.Profiles.ByName(name); !known {
			return is(no, condition.GroupDriverUnknown, "nodeGroups[name=%s].drivers[%d] is %q, which no profile describes; known are %s, others go into customDrivers",
				in.Group.Name, i, name, strings.Join(profileNames(in), ", "))
		}
	}
	if _, ok := in.Group.Selector(in.Distribution); !ok {
		return is(no, condition.GroupNoSelector, "nodeGroups[name=%s].nodeSelector is empty and this distribution labels no nodes with their group; set it", in.Group.Name)
	}
	// A group that is left to another manager has no plugin, unless a label takes one of its nodes out of that.
	if fault := kubeletRootFault(in); fault != "" && (!in.Group.Passive || s.Nodes.Expected > 0) {
		return is(no, condition.GroupKubeletRoot, "%s", fault)
	}
	if ok, r, message := controllerFresh(in, now); !ok {
		return is(unknown, r, "%s", message)
	}
	if in.Platform.Lookup == NotFound {
		return is(no, condition.GroupNodeGroupMissing, "there is no NodeGroup %s; correct nodeGroups[].name or create it", in.Group.Name)
	}
	switch n := s.Nodes; {
	case n.Total == 0:
		return is(yes, condition.GroupNoNodes, "the group has no nodes")
	case n.Expected == 0:
		return is(yes, condition.GroupNoNodes, "none of the nodes of the group (%d) is expected to register: they are passive or on their way out", n.Total)
	case withoutPod(members) == n.Expected:
		return is(no, condition.GroupNodesMissing, "none of the %d expected nodes has a pod of its driver: the DaemonSets select none of them, or their pods are Pending; compare labels and taints of the nodes with kubectl get daemonset -A -l %s=%s",
			n.Expected, gpunode.LabelNodeGroup, in.Group.Name)
	case n.Registered < n.Expected:
		return is(no, condition.GroupNodesMissing, "%d of %d expected nodes are registered; status.nodes.missing names the others", n.Registered, n.Expected)
	}
	return is(yes, condition.GroupReady, "all %d expected nodes are registered", s.Nodes.Expected)
}

// withoutPod counts the expected nodes that are not registered because no pod of the driver is there.
func withoutPod(members []v1alpha1.GPUNode) int32 {
	var out int32
	for _, n := range members {
		if c := condition.Find(n.Status.Conditions, condition.Registered); expected(n) && c != nil && c.Status == no && c.Reason == condition.NodeNoDriverPod {
			out++
		}
	}
	return out
}

func profileNames(in Input) []string {
	var names []string
	for _, p := range in.Profiles.All() {
		names = append(names, p.Name)
	}
	return names
}

func nodeGroupFound(in Input) metav1.Condition {
	is := func(status metav1.ConditionStatus, r, format string, args ...any) metav1.Condition {
		return condition.New(condition.NodeGroupFound, status, r, fmt.Sprintf(format, args...))
	}
	switch in.Platform.Lookup {
	case Found:
		return is(yes, condition.GroupFound, "NodeGroup %s exists", in.Group.Name)
	case NotFound:
		return is(no, condition.GroupNotFound, "there is no NodeGroup %s; correct nodeGroups[].name or create it", in.Group.Name)
	case KindAbsent:
		return is(unknown, condition.GroupKindAbsent, "the cluster serves no deckhouse.io/v1 NodeGroup (module node-manager is off); nodes are found by the label %s alone", in.Distribution.NodeGroupLabel)
	}
	return is(unknown, condition.GroupUnreadable, "NodeGroup %s could not be read: %s", in.Group.Name, in.Platform.Message)
}

// devicesExpected compares the cards of each expected node with the setting. It speaks of cards there now, so that a lost
// card shows although the high-water count stands.
func devicesExpected(in Input, members []v1alpha1.GPUNode) metav1.Condition {
	want := in.Group.ExpectedDevices
	if want == 0 {
		return condition.New(condition.DevicesExpected, unknown, condition.GroupDevicesNotSaid, "expectedDevices is not set for this group")
	}
	var fewer []string
	for _, n := range members {
		var cards int32
		for _, d := range n.Status.Drivers {
			if d.Expected {
				cards += d.Devices.Physical
			}
		}
		if expected(n) && cards < want {
			fewer = append(fewer, fmt.Sprintf("%s (%d)", n.Name, cards))
		}
	}
	if len(fewer) == 0 {
		return condition.New(condition.DevicesExpected, yes, condition.GroupDevicesAsExpected, fmt.Sprintf("every expected node shows at least %d cards", want))
	}
	return condition.New(condition.DevicesExpected, no, condition.GroupDevicesFewer, fmt.Sprintf("fewer than %d cards on %s; see the GPUNodes and the driver's log there", want, firstFew(fewer)))
}

// soleManager passes over what is passive, the group or a node: it is left to another manager on purpose.
func soleManager(in Input, members []v1alpha1.GPUNode) metav1.Condition {
	var seen []string
	if !in.Group.Passive {
		for _, m := range in.Platform.Managers {
			seen = append(seen, fmt.Sprintf("%s (%s)", m.Name, m.Evidence))
		}
	}
	var nodes []string
	for _, n := range members {
		if c := condition.Find(n.Status.Conditions, condition.SoleManager); !n.Status.Passive && c != nil && c.Status == no {
			nodes = append(nodes, n.Name)
		}
	}
	if len(nodes) > 0 {
		seen = append(seen, "traces on "+firstFew(nodes))
	}
	if len(seen) == 0 {
		return condition.New(condition.SoleManager, yes, condition.GroupSoleManager, "no trace of another manager in this group outside passive nodes")
	}
	return condition.New(condition.SoleManager, no, condition.GroupOtherManager, strings.Join(seen, "; ")+
		"; take the other manager off this group, or set passive: true for it")
}

func fromNodes(members []v1alpha1.GPUNode, conditionType, good, bad, goodText, badText string) metav1.Condition {
	var nodes []string
	for _, n := range members {
		if c := condition.Find(n.Status.Conditions, conditionType); c != nil && c.Status == no {
			nodes = append(nodes, n.Name)
		}
	}
	if len(nodes) == 0 {
		return condition.New(conditionType, yes, good, goodText)
	}
	return condition.New(conditionType, no, bad, fmt.Sprintf("%s %s; see the same condition of these GPUNodes", firstFew(nodes), badText))
}

func firstFew(names []string) string {
	if len(names) <= maxMissing {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxMissing], ", "), len(names)-maxMissing)
}
