package stack_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

func TestHealthy(t *testing.T) {
	s := stack.Compute(v1alpha1.GPUStackStatus{}, healthy(t), start)
	require.Len(t, s.Conditions, 7)
	for _, c := range s.Conditions {
		require.Equal(t, metav1.ConditionTrue, c.Status, "%s: %s", c.Type, c.Message)
	}
	require.Equal(t, v1alpha1.StackSummary{Drivers: "nvidia", Nodes: "2/2", Devices: "16"}, s.Summary)
	require.Equal(t, []v1alpha1.VersionCount{{Version: "v1.34.4", Count: 2}}, s.KubeletVersions)
	require.Len(t, s.FeatureGates.Instances, 3)
	require.Equal(t, []string{"nodeGroups"}, gateOf(t, s, featuregate.DynamicResourceAllocation).NeededBy)
	observed := gateOf(t, s, featuregate.ExtendedResource)
	require.Empty(t, observed.NeededBy)
	require.Equal(t, metav1.ConditionFalse, observed.State, "off, but nobody needs it")
}

// Each case breaks one thing in the healthy cluster.
func TestConditions(t *testing.T) {
	const gates, sole, listed, known, owned, accepted, synced = condition.FeatureGatesConsistent, condition.SoleManager, condition.NodeGroupsListed,
		condition.DriversKnown, condition.DeviceClassesOwned, condition.SettingsAccepted, condition.ControllerSynced
	for name, tc := range map[string]struct {
		change func(*stack.Input)
		about  string
		status metav1.ConditionStatus
		reason string
		says   []string
	}{
		"gate off": {func(in *stack.Input) { in.Settings.NodeGroups[0].Partitioning = "Dynamic" }, gates, "False", condition.StackGatesOff,
			[]string{"DRAPartitionableDevices (needed by nodeGroups[name=gpu-a100].partitioning): off in kube-apiserver api-a"}},
		"gate set twice": {func(in *stack.Input) {
			in.Instances[2] = instance(featuregate.Scheduler, "sched-a", "v1.34.4", "--feature-gates=DRAPartitionableDevices=true", "--feature-gates=DRAPartitionableDevices=false")
		}, gates, "False", condition.StackGatesConflict, []string{"kube-scheduler sched-a: sets it to true, then false"}},
		"gate refused later": {func(in *stack.Input) {
			in.Instances = plane("v1.36.0", "--feature-gates=GangScheduling=true,GenericWorkload=true")
		}, gates, "True", condition.StackGatesOn,
			[]string{"before the next Kubernetes upgrade: GangScheduling"}},
		"flags unreadable": {func(in *stack.Input) {
			in.Instances[1] = instance(featuregate.ControllerManager, "kcm-a", "v1.34.4", "$(ARGS)")
		}, gates, "Unknown", condition.StackGatesUnknown, []string{"kube-controller-manager kcm-a", "$(ARGS)"}},
		"gate nobody knows": {func(in *stack.Input) {
			in.Settings.KubernetesFeatureGates.ExtraRequired = []string{"DRAExtendedResuorce"}
			in.Instances[1] = instance(featuregate.ControllerManager, "kcm-a", "v1.34.4", "$(ARGS)")
		}, gates, "Unknown", condition.StackGatesUnknownName, []string{
			"gpu-dra knows no Kubernetes feature gate DRAExtendedResuorce; check the name in kubernetesFeatureGates.extraRequired", "$(ARGS)"}},
		"gate nobody knows of a profile": {func(in *stack.Input) {
			profiles, err := profile.NewSet(profile.Driver{Name: "acme", DriverName: "npu.acme.example", KubernetesGates: []profile.GateNeed{{Gate: "Npu"}}})
			require.NoError(t, err)
			in.Profiles, in.Settings.NodeGroups[0].Drivers = profiles, []string{"acme"}
		}, gates, "Unknown", condition.StackGatesUnknownName, []string{
			"gpu-dra knows no Kubernetes feature gate Npu; check the name in nodeGroups[name=gpu-a100].drivers[acme]"}},
		"no control plane seen": {func(in *stack.Input) { in.Instances = nil }, gates, "Unknown", condition.StackGatesUnknown, []string{"no kube-apiserver was seen"}},
		"nothing needed":        {func(in *stack.Input) { in.Settings = &settings.Settings{} }, gates, "True", condition.StackGatesOn, []string{"need no Kubernetes feature gate"}},
		"v1 not served": {func(in *stack.Input) { in.ResourceAPIs = []string{"v1beta1"} }, gates, "False", condition.StackGatesOff,
			[]string{"resource.k8s.io/v1 is not served by the API server v1.34.4 (served: v1beta1)"}},
		"manager in the cluster": {func(in *stack.Input) {
			in.ClusterManagers = []v1alpha1.Conflict{{Manager: "gpu-operator", Evidence: "nvidia.com/v1/ClusterPolicy"}}
		}, sole, "False", condition.StackOtherManager, []string{"gpu-operator (nvidia.com/v1/ClusterPolicy); give each node to one"}},
		"manager on nodes": {func(in *stack.Input) {
			in.Nodes = []v1alpha1.GPUNode{node("a", managed("device-plugin", "allocatable nvidia.com/gpu: 8")), node("b", managed("device-plugin", "allocatable nvidia.com/gpu: 4"))}
		}, sole, "False", condition.StackOtherManager, []string{"device-plugin (allocatable nvidia.com/gpu, 2 node(s))"}},
		"manager on a passive node":  {func(in *stack.Input) { in.Nodes = append(in.Nodes, node("p", passive, managed("x", "y"))) }, sole, "True", condition.StackSoleManager, nil},
		"manager on an unlisted one": {func(in *stack.Input) { in.Nodes = append(in.Nodes, node("p", ofNoGroup, managed("x", "y"))) }, sole, "True", condition.StackSoleManager, nil},
		"manager in a NodeGroup": {func(in *stack.Input) {
			in.GroupManagers = []stack.GroupManager{{Group: "gpu-a100", Manager: v1alpha1.Manager{Name: "node-manager", Evidence: "spec.gpu"}}}
		}, sole, "False", condition.StackOtherManager, []string{"node-manager (NodeGroup gpu-a100 spec.gpu, 2 node(s))"}},
		"manager in an unlisted NodeGroup": {func(in *stack.Input) {
			in.GroupManagers = []stack.GroupManager{{Group: "other", Manager: v1alpha1.Manager{Name: "node-manager", Evidence: "spec.gpu"}}}
		}, sole, "True", condition.StackSoleManager, nil},
		"manager in a passive NodeGroup": {func(in *stack.Input) {
			in.Settings.NodeGroups[0].Passive = true
			in.GroupManagers = []stack.GroupManager{{Group: "gpu-a100", Manager: v1alpha1.Manager{Name: "node-manager", Evidence: "spec.gpu"}}}
		}, sole, "True", condition.StackSoleManager, nil},
		"managers not looked for": {func(in *stack.Input) { in.Unreadable = map[stack.Fact]string{stack.FactManagers: "forbidden"} }, sole, "Unknown", condition.StackManagersUnknown, []string{"could not be read: forbidden"}},
		"unmanaged": {func(in *stack.Input) {
			in.Unmanaged = []v1alpha1.UnmanagedGroup{{Name: "z", Nodes: 1, Drivers: []string{"b", "a"}}, {Nodes: 2, Drivers: []string{"a"}}}
		}, listed, "False", condition.StackUnmanagedGroup, []string{"nodes of no group (2 node(s), a), z (1 node(s), a b)", "add their group to nodeGroups"}},
		"unknown driver": {func(in *stack.Input) { in.UnknownDrivers = []string{"z", "a", "z"} }, known, "False", condition.StackUnknownDriver, []string{"no profile describes a, z;", "customDrivers"}},
		"foreign class":  {func(in *stack.Input) { in.ForeignDeviceClasses = []string{"gpu.nvidia.com"} }, owned, "False", condition.StackForeignClass, []string{"created gpu.nvidia.com"}},
		"problem": {func(in *stack.Input) {
			in.Problems = []settings.Problem{{Path: "b", Message: "x"}, {Path: "a", Message: "y"}}
		}, accepted, "False", condition.StackSettingsProblem, []string{"a: y, b: x; the rest"}},
		"bad settings": {func(in *stack.Input) { in.Unreadable = map[stack.Fact]string{stack.FactSettings: "line 3"} }, accepted, "False", condition.StackSettingsUnreadble, []string{"line 3; the last good settings"}},
		"no settings":  {func(in *stack.Input) { in.Settings = nil }, accepted, "False", condition.StackSettingsUnreadble, []string{"not read yet"}},
		"gates without settings": {func(in *stack.Input) { in.Settings, in.Profiles = nil, nil }, gates, "Unknown", condition.StackGatesUnknown,
			[]string{"settings were not read yet"}},
		"still reading":     {func(in *stack.Input) { in.Synced = false }, synced, "False", condition.StackNotSynced, nil},
		"reading, managers": {func(in *stack.Input) { in.Synced = false }, sole, "Unknown", condition.StackManagersUnknown, []string{"still reading"}},
		"reading, groups":   {func(in *stack.Input) { in.Synced = false }, listed, "Unknown", condition.StackGroupsUnknown, nil},
		"reading, drivers":  {func(in *stack.Input) { in.Synced = false }, known, "Unknown", condition.StackDriversUnknown, nil},
		"reading, classes":  {func(in *stack.Input) { in.Synced = false }, owned, "Unknown", condition.StackClassesUnknown, nil},
		"something unreadable": {func(in *stack.Input) {
			in.Unreadable = map[stack.Fact]string{stack.FactSlices: "b", stack.FactDeviceClasses: "a"}
		}, synced, "Unknown", condition.StackFactsUnreadable, []string{"DeviceClasses (a), ResourceSlices (b)"}},
		"only settings are bad": {func(in *stack.Input) { in.Unreadable = map[stack.Fact]string{stack.FactSettings: "b"} }, synced, "True", condition.StackSynced, nil},
	} {
		t.Run(name, func(t *testing.T) {
			in := healthy(t)
			tc.change(&in)
			c := get(t, stack.Compute(v1alpha1.GPUStackStatus{}, in, start), tc.about)
			require.Equal(t, tc.status, c.Status, c.Message)
			require.Equal(t, tc.reason, c.Reason)
			require.NotEmpty(t, c.Message)
			for _, part := range tc.says {
				require.Contains(t, c.Message, part)
			}
		})
	}
}

func TestSummary(t *testing.T) {
	in := healthy(t)
	in.Nodes = []v1alpha1.GPUNode{node("a"), node("b", unregistered), node("c", passive), node("d", terminating), node("e", ofNoGroup)}
	in.SharedPools = []v1alpha1.SharedPool{
		{PoolState: v1alpha1.PoolState{Driver: "gpu.nvidia.com", Name: "p", Devices: v1alpha1.DeviceCounts{Physical: 5}}, Scope: "AllNodes"},
		{PoolState: v1alpha1.PoolState{Driver: "nobody", Name: "p", Devices: v1alpha1.DeviceCounts{Physical: 7}}, Scope: "AllNodes"},
	}
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, v1alpha1.StackSummary{Drivers: "nvidia", Nodes: "1/2", Devices: "37"}, s.Summary)

	for drivers, want := range map[string]string{
		"": "", "nvidia amd": "amd,nvidia", "nvidia nvidia": "nvidia", "nvidia intel-gpu intel-gaudi ascend": "ascend,+3",
		"nvidia amd ascend": "amd,ascend,nvidia", strings.Repeat("x", 40): "1 drivers",
	} {
		in.Settings.NodeGroups[0].Drivers = strings.Fields(drivers)
		got := stack.Compute(v1alpha1.GPUStackStatus{}, in, start).Summary.Drivers
		require.LessOrEqual(t, len(got), 18)
		require.Equal(t, want, got)
	}
}

// kubectl pads each column to its widest cell and adds three spaces.
func TestLineFitsTheScreen(t *testing.T) {
	in := healthy(t)
	in.KubernetesVersion, in.Settings.NodeGroups[0].Drivers = "v1.34.12-gke.100", []string{"nvidia", "intel-gaudi", "rebellions"}
	in.Nodes = nil
	for range 5000 {
		in.Nodes = append(in.Nodes, node("n"))
	}
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start)
	require.Equal(t, "5000/5000", s.Summary.Nodes)
	width := 0
	for heading, cell := range map[string]string{"NAME": "main", "KUBERNETES": s.KubernetesVersion, "DRIVERS": s.Summary.Drivers, "NODES": s.Summary.Nodes,
		"DEVICES": s.Summary.Devices, "GATES": "Unknown", "SOLE-MANAGER": "Unknown", "AGE": "1000d"} {
		width += max(len(heading), len(cell)) + 3
	}
	require.Less(t, width-3, 100)
}

func TestHeartbeatMovesInSteps(t *testing.T) {
	in := healthy(t)
	s := stack.Compute(v1alpha1.GPUStackStatus{}, in, start.Add(300*time.Millisecond))
	require.Equal(t, start, s.Heartbeat.Time)
	for after, want := range map[time.Duration]time.Duration{29 * time.Second: 0, 30 * time.Second: 30 * time.Second, time.Hour: time.Hour, -time.Minute: -time.Minute} {
		got := stack.Compute(s, in, start.Add(after))
		require.Equal(t, start.Add(want), got.Heartbeat.Time, after)
	}
}
