package gpunode

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// Labels of the DaemonSets that the chart makes, and of their pods.
const (
	// LabelDriver holds the name of the driver's profile.
	LabelDriver = v1alpha1.Group + "/driver"
	// LabelNodeGroup holds the name of the node group.
	LabelNodeGroup = v1alpha1.Group + "/node-group"
)

// deployed says whether gpu-dra is to run the driver on this node.
func deployed(in Input, s v1alpha1.GPUNodeStatus, d v1alpha1.NodeDriver) bool {
	p, ok := in.Profiles.ByName(d.Profile)
	return ok && d.Expected && !s.Passive && p.Plugin != nil
}

func hasPublished(d v1alpha1.NodeDriver) bool { return d.Registered || len(d.Pools) > 0 }

// podGone remembers for LossDelay since when the pod of a driver whose slices are still there has been missing: the kubelet
// takes 30 s to wipe them, and every replacement of a pod has a moment with none. Without it, each rolling update would call
// our own slices those of another installation. nil: there is a pod, or slices without one for longer, or from the start.
func podGone(nd, before v1alpha1.NodeDriver, now time.Time) *metav1.Time {
	since := before.PodGoneSince
	switch {
	case nd.Pod != nil || !hasPublished(nd):
		return nil
	case before.Pod != nil:
		since = wholeSecond(now)
	case since == nil || now.Sub(since.Time) >= LossDelay:
		return nil
	}
	return since
}

// untilForeign is after how long the slices of a driver without a pod are another installation's; 0: there are none in doubt.
func untilForeign(s v1alpha1.GPUNodeStatus, now time.Time) time.Duration {
	var again time.Duration
	for _, d := range s.Drivers {
		if d.PodGoneSince != nil {
			again = sooner(again, LossDelay-now.Sub(d.PodGoneSince.Time))
		}
	}
	return again
}

// podFault says why the pod of a driver that is not registered cannot have published; an empty reason: it can, or it is not
// ours to run.
func podFault(in Input, s v1alpha1.GPUNodeStatus, d v1alpha1.NodeDriver) (reason, message string) {
	switch pod := d.Pod; {
	case !deployed(in, s, d):
		return "", ""
	case pod == nil:
		return condition.NodeNoDriverPod, fmt.Sprintf("driver %s has no pod here: the node lacks a label that its DaemonSet selects by, has a taint that it does not tolerate "+
			"or the label %s, or the pod is Pending; see kubectl get daemonset,pod -A -l %s=%s", d.Name, v1alpha1.LabelPassive, LabelDriver, d.Profile)
	case pod.Ready:
		return "", ""
	case pod.Message != "":
		return condition.NodeDriverPodNotReady, fmt.Sprintf("pod %s of driver %s is not ready (%s): %s", pod.Name, d.Name, podReason(*pod), pod.Message)
	default:
		return condition.NodeDriverPodNotReady, fmt.Sprintf("pod %s of driver %s is not ready (%s); see kubectl describe pod and its log", pod.Name, d.Name, podReason(*pod))
	}
}

func podReason(p v1alpha1.DriverPod) string {
	if p.Reason != "" {
		return p.Reason
	}
	if p.Phase != "" {
		return string(p.Phase)
	}
	return "it has not reported yet"
}

// wholeSecond rounds up, since the API keeps whole seconds: a delay that is counted from it must not be cut short.
func wholeSecond(now time.Time) *metav1.Time {
	t := metav1.NewTime(now.Add(time.Second - 1).Truncate(time.Second))
	return &t
}

// sooner is the shorter of two times to wait, of which 0 means never.
func sooner(a, b time.Duration) time.Duration {
	switch {
	case a == 0:
		return b
	case b == 0:
		return a
	}
	return min(a, b)
}
