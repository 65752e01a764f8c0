package stack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// full is a cluster in which every list has something.
func full(t testing.TB) stack.Input {
	in := healthy(t)
	in.Settings.NodeGroups[0].Partitioning = "Dynamic"
	in.Instances = plane("v1.34.4", "--feature-gates=DRAPartitionableDevices=true,CRDSensitiveData=true")
	in.Nodes = append(in.Nodes, node("n3", managed("device-plugin", "allocatable nvidia.com/gpu: 8")))
	in.ClusterManagers = []v1alpha1.Conflict{{Manager: "gpu-operator", Evidence: "nvidia.com/v1/ClusterPolicy"}}
	in.GroupManagers = []stack.GroupManager{{Group: "gpu-a100", Manager: v1alpha1.Manager{Name: "node-manager", Evidence: "spec.gpu"}}}
	in.SharedPools = []v1alpha1.SharedPool{{PoolState: v1alpha1.PoolState{Driver: "gpu.nvidia.com", Name: "p"}, Scope: "AllNodes"}}
	in.Unmanaged = []v1alpha1.UnmanagedGroup{{Name: "other", Nodes: 1, Drivers: []string{"gpu.nvidia.com"}}}
	in.UnknownDrivers = []string{"gpu.unknown.example"}
	in.ForeignDeviceClasses = []string{"gpu.nvidia.com"}
	return in
}

func TestUnreadableKeepsTheLastKnown(t *testing.T) {
	before := stack.Compute(v1alpha1.GPUStackStatus{}, full(t), start)
	in := full(t)
	in.KubernetesVersion, in.ResourceAPIs, in.Instances, in.SharedPools, in.Unmanaged, in.UnknownDrivers = "", nil, nil, nil, nil, nil
	in.ForeignDeviceClasses, in.ClusterManagers, in.GroupManagers = nil, nil, nil
	in.Unreadable = map[stack.Fact]string{
		stack.FactKubernetesVersion: "timeout", stack.FactResourceAPIs: "timeout", stack.FactInstances: "forbidden", stack.FactSlices: "timeout",
		stack.FactManagers: "forbidden", stack.FactNodeGroups: "forbidden", stack.FactDeviceClasses: "forbidden",
	}
	after := stack.Compute(before, in, start.Add(time.Second))
	require.Equal(t, before.KubernetesVersion, after.KubernetesVersion)
	require.Equal(t, before.ResourceAPIs, after.ResourceAPIs)
	require.Equal(t, before.SharedPools, after.SharedPools)
	require.Equal(t, before.Unmanaged, after.Unmanaged)
	require.Equal(t, before.UnknownDrivers, after.UnknownDrivers)
	require.Equal(t, before.ForeignDeviceClasses, after.ForeignDeviceClasses)
	require.Equal(t, before.Conflicts, after.Conflicts)
	require.Equal(t, before.Summary, after.Summary)
	require.Contains(t, get(t, after, condition.DriversKnown).Message, "last known: ResourceSlices could not be read: timeout")

	require.Len(t, after.FeatureGates.Instances, 3)
	for _, i := range after.FeatureGates.Instances {
		require.Equal(t, map[string]bool{"DRAPartitionableDevices": true}, i.Set, "of the table only, as last read")
		require.Contains(t, i.Unreadable, "forbidden")
	}
	gate := gateOf(t, after, "DRAPartitionableDevices")
	require.Equal(t, metav1.ConditionUnknown, gate.State)
	require.Contains(t, gate.Message, "by what was last read it is on")
	require.Equal(t, condition.StackGatesUnknown, get(t, after, condition.FeatureGatesConsistent).Reason)

	again := stack.Compute(after, full(t), start.Add(2*time.Second))
	for i := range again.Conditions {
		again.Conditions[i].LastTransitionTime = before.Conditions[i].LastTransitionTime
	}
	require.Equal(t, before, again, "all is as before once it can be read")
}

// A controller that starts over knows no less than the one before it.
func TestRestartedControllerKeepsTheLastKnown(t *testing.T) {
	before := stack.Compute(v1alpha1.GPUStackStatus{}, full(t), start)
	after := stack.Compute(before, stack.Input{ControllerVersion: "v0.2.0"}, start.Add(time.Second))
	require.False(t, after.Synced)
	require.Empty(t, after.SettingsHash)
	require.Equal(t, before.KubeletVersions, after.KubeletVersions)
	require.Equal(t, before.Conflicts, after.Conflicts)
	require.Equal(t, before.Summary, after.Summary)
	require.Len(t, after.FeatureGates.Needed, len(before.FeatureGates.Needed))
	require.Equal(t, metav1.ConditionUnknown, gateOf(t, after, featuregate.DynamicResourceAllocation).State)
}

func TestOneUnreadableInstanceKeepsItsGates(t *testing.T) {
	before := stack.Compute(v1alpha1.GPUStackStatus{}, full(t), start)
	in := full(t)
	in.Instances[2] = instance(featuregate.Scheduler, "sched-a", "v1.34.4", "$(ARGS)")
	after := stack.Compute(before, in, start.Add(time.Second))
	scheduler := after.FeatureGates.Instances[2]
	require.Equal(t, "kube-scheduler", scheduler.Component)
	require.NotEmpty(t, scheduler.Unreadable)
	require.Equal(t, map[string]bool{"DRAPartitionableDevices": true}, scheduler.Set)
	require.Equal(t, metav1.ConditionUnknown, gateOf(t, after, "DRAPartitionableDevices").State)

	in.Instances[2].Name = "sched-b"
	after = stack.Compute(before, in, start.Add(time.Second))
	require.Empty(t, after.FeatureGates.Instances[2].Set, "of another instance nothing is known")
	require.NotContains(t, gateOf(t, after, "DRAPartitionableDevices").Message, "last read")
}

// Flags that were read stay known through any number of rounds in which they can't be, whatever they say.
func TestFlagsStayKnownThroughDoubt(t *testing.T) {
	for name, flags := range map[string][]string{
		"none": nil, "an emulated version": {"--emulated-version=1.33"}, "an API": {"--runtime-config=api/beta=true"}, "a file": {"--openshift-config=/c"},
	} {
		in := full(t)
		in.Instances[2] = instance(featuregate.Scheduler, "sched-a", "v1.34.4", flags...)
		before := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
		require.False(t, before.FeatureGates.Instances[2].Remembered, name)
		in.Instances[2] = instance(featuregate.Scheduler, "sched-a", "v1.34.4", "$(ARGS)")
		once := stack.Compute(before, in, start.Add(time.Second))
		twice := stack.Compute(once, in, start.Add(2*time.Second))
		require.Equal(t, once.FeatureGates, twice.FeatureGates, name)
		is := twice.FeatureGates.Instances[2]
		require.True(t, is.Remembered, name)
		require.Equal(t, before.FeatureGates.Instances[2].EmulatedVersion, is.EmulatedVersion)
		require.Equal(t, before.FeatureGates.Instances[2].ConfigFile, is.ConfigFile)
		gate := gateOf(t, twice, "DRAPartitionableDevices")
		require.Equal(t, metav1.ConditionUnknown, gate.State)
		require.Equal(t, name == "a file", gate.Effective == metav1.ConditionUnknown, "%s: %s", name, gate.Effective)
	}
}

func TestTransitionTimesStand(t *testing.T) {
	in := full(t)
	before := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	in.UnknownDrivers = nil
	after := stack.Compute(before, in, start.Add(time.Minute))
	require.Equal(t, start.Add(time.Minute), get(t, after, condition.DriversKnown).LastTransitionTime.Time)
	require.Equal(t, start, get(t, after, condition.SoleManager).LastTransitionTime.Time)
}
