package nodegroup

import (
	"fmt"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// runtimeReady tells of the nodes where pods would start without their devices, or may. Nothing else in the group shows it:
// drivers register and claims are allocated all the same.
func runtimeReady(members []v1alpha1.GPUNode) metav1.Condition {
	var unsupported, off, unknownTo []string
	for _, n := range members {
		c := condition.Find(n.Status.Conditions, condition.RuntimeReady)
		switch {
		case c == nil || !expected(n) || c.Status == yes:
		case c.Status == no:
			unsupported = append(unsupported, n.Name)
		case c.Reason == condition.NodeCDIOffByDefault:
			off = append(off, n.Name)
		default:
			unknownTo = append(unknownTo, n.Name)
		}
	}
	is := func(status metav1.ConditionStatus, r, format string, nodes []string) metav1.Condition {
		return condition.New(condition.RuntimeReady, status, r, fmt.Sprintf(format, firstFew(nodes))+"; see the same condition of these GPUNodes")
	}
	switch {
	case len(unsupported) > 0:
		return is(no, condition.GroupCDIUnsupported, "pods start without their devices on %s: the container runtime there cannot inject CDI devices", unsupported)
	case len(off) > 0:
		return is(unknown, condition.GroupCDIOffByDefault, "the container runtime of %s has CDI off unless its configuration switches it on", off)
	case len(unknownTo) > 0:
		return is(unknown, condition.GroupRuntimeUnknown, "the version of the container runtime of %s does not tell whether it injects CDI devices", unknownTo)
	}
	return condition.New(condition.RuntimeReady, yes, condition.GroupCDISupported, "no expected node has a container runtime that cannot inject CDI devices")
}

// ManyDevices says whether a node of the group publishes more devices of an accelerator's driver than one claim may hold. before is
// the last answer: it stands until every node with a driver is seen to have fewer, since a node that restarts publishes none.
func ManyDevices(in Input, before bool, now time.Time) bool {
	certain, _, _ := controllerFresh(in, now)
	for _, n := range members(in) {
		if c := condition.Find(n.Status.Conditions, condition.Registered); expected(n) && (c == nil || c.Status != metav1.ConditionTrue) {
			certain = false
		}
		for _, d := range n.Status.Drivers {
			if d.Accelerator && d.Devices.Published > resourcev1.AllocationResultsMaxSize {
				return true
			}
		}
	}
	return before && !certain
}

// CDIOff says whether a node of the group has a container runtime that knows CDI and has it off by default, so that the platform
// is to prepare the group's nodes. A node that was prepared counts as before, since its version is all that is known. before
// is the last answer: it stands while the facts are in doubt, because what is taken off a node's runtime and put back may
// restart it. Passive nodes do not count: what runs on them is another manager's.
func CDIOff(in Input, before bool, now time.Time) bool {
	for _, n := range members(in) {
		if c := condition.Find(n.Status.Conditions, condition.RuntimeReady); c != nil && c.Reason == condition.NodeCDIOffByDefault && !n.Status.Passive {
			return true
		}
	}
	fresh, _, _ := controllerFresh(in, now)
	return before && !fresh
}
