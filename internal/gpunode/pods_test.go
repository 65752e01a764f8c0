package gpunode_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func TestPodTellsWhyADriverIsNotRegistered(t *testing.T) {
	for name, c := range map[string]struct {
		pod      *v1alpha1.DriverPod
		change   func(*gpunode.Input)
		reason   string
		contains string
		wipe     string
	}{
		"ready": {pod: &v1alpha1.DriverPod{Name: "p", Ready: true}, reason: condition.NodeNotPublished, contains: "see its pod on this node", wipe: condition.NodeDriverLost},
		"none":  {reason: condition.NodeNoDriverPod, contains: "kubectl get daemonset,pod -A -l gpu-dra.deckhouse.io/driver=nvidia", wipe: condition.NodeNoDriverPod},
		"crashing": {pod: &v1alpha1.DriverPod{Name: "p", Phase: corev1.PodRunning, Reason: "CrashLoopBackOff"}, reason: condition.NodeDriverPodNotReady,
			contains: "pod p of driver gpu.nvidia.com is not ready (CrashLoopBackOff); see", wipe: condition.NodeDriverPodNotReady},
		"held back": {pod: &v1alpha1.DriverPod{Name: "p", Phase: corev1.PodPending, Reason: "Init:guard", Message: "node n1 still advertises it"}, reason: condition.NodeDriverPodNotReady,
			contains: "is not ready (Init:guard): node n1 still advertises it", wipe: condition.NodeDriverPodNotReady},
		"pending": {pod: &v1alpha1.DriverPod{Name: "p", Phase: corev1.PodPending}, reason: condition.NodeDriverPodNotReady, contains: "(Pending)", wipe: condition.NodeDriverPodNotReady},
		"new":     {pod: &v1alpha1.DriverPod{Name: "p"}, reason: condition.NodeDriverPodNotReady, contains: "(it has not reported yet)", wipe: condition.NodeDriverPodNotReady},
		"passive": {change: func(in *gpunode.Input) { in.Node.Labels[v1alpha1.LabelPassive] = "true" }, reason: condition.NodeNotPublished, contains: "the node is passive", wipe: condition.NodeDriverLost},
		"not deployed by gpu-dra": {change: func(in *gpunode.Input) { in.Profiles = profiles(t, func(d *profile.Driver) { d.Plugin = nil }) },
			reason: condition.NodeNotPublished, contains: "published nothing", wipe: condition.NodeDriverLost},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			in.Pods = nil
			if c.pod != nil {
				in.Pods = map[string]v1alpha1.DriverPod{"nvidia": *c.pod}
			}
			if c.change != nil {
				c.change(&in)
			}
			s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
			require.Equal(t, metav1.ConditionFalse, registered(t, s).Status)
			require.Equal(t, c.reason, registered(t, s).Reason)
			require.Contains(t, registered(t, s).Message, c.contains)

			in.Drivers = published(8)
			s, _ = gpunode.Compute(s, in, start)
			require.Equal(t, condition.NodeRegistered, registered(t, s).Reason, "what is published counts, whatever the pod does")
			in.Drivers = nil
			s, _ = gpunode.Compute(s, in, start)
			require.Equal(t, condition.NodeWaitingAfterLoss, registered(t, s).Reason)
			s, _ = gpunode.Compute(s, in, start.Add(gpunode.LossDelay))
			require.Equal(t, c.wipe, registered(t, s).Reason)
			require.Contains(t, registered(t, s).Message, "since 2026-03-01T12:00:00Z")
		})
	}
}

func TestAPoolInPartsBehindABrokenPod(t *testing.T) {
	in := input(t)
	in.Pods["nvidia"] = v1alpha1.DriverPod{Name: "p", Reason: "CrashLoopBackOff"}
	in.Drivers = []gpunode.Driver{{Name: "gpu.nvidia.com", Pools: []v1alpha1.PoolState{{Name: "p", Slices: 1, ExpectedSlices: 2}}}}
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	require.Equal(t, condition.NodeDriverPodNotReady, registered(t, s).Reason, "the pool stays in parts until the pod runs")
}

// foreign is a node over time: Registered stays out of it, since the slices are there.
type foreign struct {
	t  *testing.T
	in gpunode.Input
	s  v1alpha1.GPUNodeStatus
}

// at computes the status so many seconds after the start; it returns the reason of SoleManager and when to look again.
func (f *foreign) at(seconds int, pod, slices bool) (string, time.Duration) {
	f.t.Helper()
	f.in.Pods, f.in.Drivers = nil, nil
	if pod {
		f.in.Pods = map[string]v1alpha1.DriverPod{"nvidia": {Name: "p", Ready: true}}
	}
	if slices {
		f.in.Drivers = published(8)
	}
	var again time.Duration
	f.s, again = gpunode.Compute(f.s, f.in, start.Add(time.Duration(seconds)*time.Second))
	return condition.Find(f.s.Conditions, condition.SoleManager).Reason, again
}

func (f *foreign) require(reason string, seconds int, pod, slices bool) {
	f.t.Helper()
	got, _ := f.at(seconds, pod, slices)
	require.Equal(f.t, reason, got)
}

func TestSlicesWithoutAPodOfOurs(t *testing.T) {
	const ours, theirs = "SoleManager", "ForeignDriver"
	f := &foreign{t: t, in: input(t)}
	f.require(theirs, 0, false, true)
	c := condition.Find(f.s.Conditions, condition.SoleManager)
	require.Equal(t, metav1.ConditionFalse, c.Status)
	require.Contains(t, c.Message, "the slices of driver gpu.nvidia.com come from another installation")
	require.Contains(t, c.Message, "gpu-dra.deckhouse.io/passive=true")
	f.require(theirs, 300, false, true)
	f.require(ours, 301, true, true)

	// A pod that is replaced, and one whose slices the kubelet wipes after it.
	reason, again := f.at(310, false, true)
	require.Equal(t, ours, reason)
	require.Equal(t, gpunode.LossDelay, again)
	f.require(ours, 311, true, true)
	require.Nil(t, f.s.Drivers[0].PodGoneSince)
	f.require(ours, 320, false, true)
	f.require(ours, 350, false, false)
	f.require(theirs, 355, false, true)

	// One whose slices outlive it.
	f.require(ours, 400, true, true)
	f.require(ours, 410, false, true)
	reason, again = f.at(469, false, true)
	require.Equal(t, ours, reason)
	require.Equal(t, time.Second, again)
	reason, again = f.at(470, false, true)
	require.Equal(t, theirs, reason)
	require.Zero(t, again)
	require.Nil(t, f.s.Drivers[0].PodGoneSince)
	f.require(theirs, 471, false, true)
}

// Whichever of two waits is over first brings the next look.
func TestWaitsOfTwoDrivers(t *testing.T) {
	in := input(t)
	in.Groups[0].Drivers = []string{"nvidia", "plain"}
	plain := gpunode.Driver{Name: "gpu.plain.example", Registered: true}
	in.Drivers = append(published(8), plain)
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	in.Drivers = published(8)
	s, _ = gpunode.Compute(s, in, start.Add(10*time.Second))
	in.Pods = nil
	s, again := gpunode.Compute(s, in, start.Add(30*time.Second))
	require.Equal(t, 40*time.Second, again, "the lost driver")
	in.Drivers = append(published(8), plain)
	_, again = gpunode.Compute(s, in, start.Add(40*time.Second))
	require.Equal(t, 50*time.Second, again, "the pod that has gone")
}

func TestSlicesThatAreNotForeign(t *testing.T) {
	for name, change := range map[string]func(*gpunode.Input){
		"passive node":             func(in *gpunode.Input) { in.Node.Labels[v1alpha1.LabelPassive] = "true" },
		"passive group":            func(in *gpunode.Input) { in.Groups[0].Passive = true },
		"node on its way out":      func(in *gpunode.Input) { in.Node.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}} },
		"driver that nobody lists": func(in *gpunode.Input) { in.Groups = nil },
		"driver by other means":    func(in *gpunode.Input) { in.Profiles = profiles(t, func(d *profile.Driver) { d.Plugin = nil }) },
		"driver of no accelerator": func(in *gpunode.Input) {
			in.Drivers = []gpunode.Driver{{Name: "compute-domain.nvidia.com", Pools: []v1alpha1.PoolState{{Complete: true}}}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			in.Pods, in.Drivers = nil, published(8)
			change(&in)
			s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
			require.Equal(t, condition.NodeSoleManager, condition.Find(s.Conditions, condition.SoleManager).Reason)
		})
	}
}

// What names the other manager goes first.
func TestForeignSlicesBesideATrace(t *testing.T) {
	in := input(t)
	in.Pods, in.Drivers = nil, published(8)
	in.Node.Labels["nvidia.com/gpu.deploy.dra-driver"] = "true"
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	c := condition.Find(s.Conditions, condition.SoleManager)
	require.Equal(t, condition.NodeOtherManager, c.Reason)
	require.Contains(t, c.Message, "gpu-operator (label nvidia.com/gpu.deploy.dra-driver=true), the slices of driver gpu.nvidia.com come from another installation")
}
