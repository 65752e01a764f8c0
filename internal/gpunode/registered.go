package gpunode

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// registeredCondition is debounced downwards only: a driver that comes back is registered at once; one that was registered
// and is missing keeps the condition True for LossDelay.
func registeredCondition(in Input, s v1alpha1.GPUNodeStatus, now time.Time) (metav1.Condition, time.Duration) {
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
			r, message := neverRegistered(in, s, d)
			return condition.New(condition.Registered, metav1.ConditionFalse, r, message), 0
		}
		left := LossDelay - now.Sub(d.LostSince.Time)
		if left <= 0 {
			r, message := lost(in, s, d)
			return condition.New(condition.Registered, metav1.ConditionFalse, r, message), 0
		}
		again = sooner(again, left)
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
	return condition.New(condition.Registered, metav1.ConditionTrue, condition.NodeRegistered, ""), 0
}

func neverRegistered(in Input, s v1alpha1.GPUNodeStatus, d v1alpha1.NodeDriver) (reason, message string) {
	if r, message := podFault(in, s, d); r != "" {
		return r, message
	}
	if len(d.Pools) == 0 {
		next := "see its pod on this node"
		if s.Passive {
			next = "the node is passive, so gpu-dra leaves it to another manager"
		}
		return condition.NodeNotPublished, fmt.Sprintf("driver %s has published nothing for this node yet; %s", d.Name, next)
	}
	for _, p := range d.Pools {
		if !p.Complete {
			return condition.NodePoolIncomplete, fmt.Sprintf("pool %s of driver %s shows %d of %d slices of generation %d; the driver is still publishing, or the API server refuses a slice: see the driver's log",
				p.Name, d.Name, p.Slices, p.ExpectedSlices, p.Generation)
		}
	}
	return condition.NodeNoDevices, fmt.Sprintf("driver %s has published a pool with no device for this node; see its log for why it found none", d.Name)
}

// lost speaks of a driver that has been missing for LossDelay. Where its pod tells why, that is the reason.
func lost(in Input, s v1alpha1.GPUNodeStatus, d v1alpha1.NodeDriver) (reason, message string) {
	since := d.LostSince.UTC().Format(time.RFC3339)
	if r, message := podFault(in, s, d); r != "" {
		return r, fmt.Sprintf("%s (no complete pool since %s)", message, since)
	}
	return condition.NodeDriverLost, fmt.Sprintf("driver %s has published no complete pool here since %s; see its pod on this node and the kubelet's log", d.Name, since)
}
