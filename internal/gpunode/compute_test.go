package gpunode_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// profiles are the built-in ones, as changed, and one of a driver that has no partitions. gpu-dra runs the driver `nvidia`, of
// which nothing but the selector of its pods matters here.
func profiles(t *testing.T, change ...func(nvidia *profile.Driver)) *profile.Set {
	t.Helper()
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	all := append(slices.Clone(builtin), profile.Driver{Name: "plain", DriverName: "gpu.plain.example"})
	i := slices.IndexFunc(all, func(d profile.Driver) bool { return d.Name == "nvidia" })
	require.GreaterOrEqual(t, i, 0)
	all[i].Plugin, all[i].PodSelector = &profile.Plugin{}, map[string]string{"app": "driver"}
	for _, c := range change {
		c(&all[i])
	}
	set, err := profile.NewSet(all...)
	require.NoError(t, err)
	return set
}

func distribution(t *testing.T, name string) profile.Distribution {
	t.Helper()
	all, err := profile.Distributions()
	require.NoError(t, err)
	require.Contains(t, all, name)
	return all[name]
}

func input(t *testing.T) gpunode.Input {
	return gpunode.Input{
		Node:         &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{}}},
		Groups:       []settings.NodeGroup{{Name: "gpu", Drivers: []string{"nvidia"}}},
		Pods:         map[string]v1alpha1.DriverPod{"nvidia": {Name: "p", Phase: corev1.PodRunning, Ready: true}},
		Distribution: distribution(t, "Deckhouse"),
		Profiles:     profiles(t),
	}
}

func published(cards int32) []gpunode.Driver {
	return []gpunode.Driver{{
		Name: "gpu.nvidia.com", Registered: cards > 0,
		Counts: v1alpha1.DeviceCounts{Physical: cards, Published: cards, AllocatableWhole: cards},
		Pools:  []v1alpha1.PoolState{{Driver: "gpu.nvidia.com", Name: "n1", Generation: 1, Slices: 1, ExpectedSlices: 1, Complete: true}},
	}}
}

func registered(t *testing.T, s v1alpha1.GPUNodeStatus) *metav1.Condition {
	t.Helper()
	c := condition.Find(s.Conditions, condition.Registered)
	require.NotNil(t, c)
	return c
}

func TestRegisteredIsDebouncedDownwardsOnly(t *testing.T) {
	in := input(t)
	var s v1alpha1.GPUNodeStatus
	step := func(after time.Duration, cards int32) (v1alpha1.GPUNodeStatus, time.Duration) {
		in.Drivers = nil
		if cards > 0 {
			in.Drivers = published(cards)
		}
		var again time.Duration
		s, again = gpunode.Compute(s, in, start.Add(after))
		return s, again
	}

	step(0, 0)
	require.Equal(t, metav1.ConditionFalse, registered(t, s).Status, "a driver that never came is not registered at once")
	require.Equal(t, condition.NodeNotPublished, registered(t, s).Reason)

	step(10*time.Second, 8)
	require.Equal(t, metav1.ConditionTrue, registered(t, s).Status, "a driver that comes is registered at once")

	_, again := step(20*time.Second, 0)
	require.Equal(t, metav1.ConditionTrue, registered(t, s).Status, "a wipe does not show at once")
	require.Equal(t, condition.NodeWaitingAfterLoss, registered(t, s).Reason)
	require.Equal(t, gpunode.LossDelay, again)
	require.Zero(t, s.Drivers[0].Devices.Physical, "raw counts follow at once")
	require.False(t, s.Drivers[0].Registered)
	require.EqualValues(t, 8, s.Drivers[0].HighWater, "the high-water count stays")

	_, again = step(79*time.Second, 0)
	require.Equal(t, metav1.ConditionTrue, registered(t, s).Status)
	require.Equal(t, time.Second, again)

	step(80*time.Second, 0)
	require.Equal(t, metav1.ConditionFalse, registered(t, s).Status)
	require.Equal(t, condition.NodeDriverLost, registered(t, s).Reason)
	lostAt := registered(t, s).LastTransitionTime

	step(300*time.Second, 0)
	require.Equal(t, lostAt, registered(t, s).LastTransitionTime, "the transition time stands while the status does")

	step(301*time.Second, 8)
	require.Equal(t, metav1.ConditionTrue, registered(t, s).Status, "back at once")
	require.Nil(t, s.Drivers[0].LostSince)
}

// Thousands of GPUNodes are kept by every watcher: a healthy one says nothing twice.
func TestHealthyConditionsHaveNoMessage(t *testing.T) {
	in := input(t)
	in.Drivers = published(8)
	in.Node.Status.NodeInfo.ContainerRuntimeVersion = "containerd://2.2.0"
	s, again := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	require.Len(t, s.Conditions, 5)
	for _, c := range s.Conditions {
		require.Equal(t, metav1.ConditionTrue, c.Status, c.Type)
		require.Empty(t, c.Message, c.Type)
	}
	require.Zero(t, again)
}

// The API keeps whole seconds; the delay must still be whole.
func TestDelayIsNotCutShort(t *testing.T) {
	in := input(t)
	in.Drivers = published(8)
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	in.Drivers = nil
	lost := start.Add(1900 * time.Millisecond)
	s, _ = gpunode.Compute(s, in, lost)
	s, again := gpunode.Compute(s, in, lost.Add(gpunode.LossDelay-time.Millisecond))
	require.Equal(t, metav1.ConditionTrue, registered(t, s).Status)
	require.Positive(t, again)
}

func TestHighWaterFollowsSettingsNotFaults(t *testing.T) {
	in := input(t)
	in.Drivers = published(8)
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	in.Drivers = published(7)
	s, _ = gpunode.Compute(s, in, start)
	require.EqualValues(t, 8, s.Drivers[0].HighWater)
	in.Groups = nil
	s, _ = gpunode.Compute(s, in, start)
	require.Zero(t, s.Drivers[0].HighWater, "no group lists the driver any more")
}

func TestNeverRegisteredSaysWhy(t *testing.T) {
	for want, pools := range map[string][]v1alpha1.PoolState{
		condition.NodeNotPublished:   nil,
		condition.NodePoolIncomplete: {{Name: "p", Slices: 1, ExpectedSlices: 2}},
		condition.NodeNoDevices:      {{Name: "p", Slices: 1, ExpectedSlices: 1, Complete: true}},
	} {
		in := input(t)
		in.Drivers = []gpunode.Driver{{Name: "gpu.nvidia.com", Pools: pools}}
		s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
		require.Equal(t, want, registered(t, s).Reason)
	}
}

func TestUnknownProfileExpectsNothing(t *testing.T) {
	in := input(t)
	in.Groups = []settings.NodeGroup{{Name: "gpu", Drivers: []string{"nobody-knows"}}}
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	require.Equal(t, condition.NodeNoDriverExpected, registered(t, s).Reason)
	require.Empty(t, s.Drivers)
}

func TestSoleManagerNamesTraces(t *testing.T) {
	in := input(t)
	in.Drivers = published(8)
	in.Node.Labels["nvidia.com/gpu.deploy.device-plugin"] = "true"
	in.Node.Status.Allocatable = corev1.ResourceList{
		"nvidia.com/gpu":        resource.MustParse("8"),
		"nvidia.com/mig-1g.5gb": resource.MustParse("0"),
		"example.com/other":     resource.MustParse("3"),
	}
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	require.Equal(t, []v1alpha1.PluginResource{{Name: "nvidia.com/gpu", Allocatable: 8}}, s.PluginResources,
		"an amount of zero is what a removed plugin leaves behind")
	c := condition.Find(s.Conditions, condition.SoleManager)
	require.Equal(t, metav1.ConditionFalse, c.Status)
	require.Equal(t, condition.NodeDevicePlugin, c.Reason)
	require.Contains(t, c.Message, "label nvidia.com/gpu.deploy.device-plugin=true")
	require.Contains(t, c.Message, "allocatable nvidia.com/gpu: 8")

	in.Node.Labels["nvidia.com/gpu.deploy.device-plugin"] = "false"
	in.Node.Status.Allocatable = nil
	s, _ = gpunode.Compute(s, in, start)
	require.Equal(t, metav1.ConditionTrue, condition.Find(s.Conditions, condition.SoleManager).Status)
}

func TestPassiveLabelGoesOverTheGroup(t *testing.T) {
	in := input(t)
	for _, c := range []struct {
		label string
		group bool
		want  bool
	}{{"", false, false}, {"", true, true}, {"true", false, true}, {"false", true, false}, {"maybe", true, true}, {"True", false, true}, {"yes", false, true},
		{"no", true, false}, {"0", true, false}, {"TRUE", false, false}, {"NO", true, true}} {
		in.Groups[0].Passive = c.group
		in.Node.Labels[v1alpha1.LabelPassive] = c.label
		s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
		require.Equal(t, c.want, s.Passive, "label %q, group %v", c.label, c.group)
	}
}

func TestTerminating(t *testing.T) {
	in := input(t)
	in.Node.Spec.Taints = []corev1.Taint{{Key: "ToBeDeletedByClusterAutoscaler"}}
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	require.True(t, s.Terminating)
}

func TestOverlappingGroups(t *testing.T) {
	in := input(t)
	in.Groups = append(in.Groups, settings.NodeGroup{Name: "also", Drivers: []string{"nvidia"}})
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	require.Equal(t, []string{"also", "gpu"}, s.Groups)
	c := condition.Find(s.Conditions, condition.GroupsDistinct)
	require.Equal(t, metav1.ConditionFalse, c.Status)
	require.Equal(t, condition.NodeGroupsOverlap, c.Reason)
}

func TestDevicesHealthy(t *testing.T) {
	in := input(t)
	for want, change := range map[string]func(*gpunode.Driver){
		condition.NodeDevicesHealthy: func(*gpunode.Driver) {},
		condition.NodePublishedTwice: func(d *gpunode.Driver) { d.PublishedTwice = 1 },
		condition.NodeStaleSlices:    func(d *gpunode.Driver) { d.Pools[0].StaleSlices = 1 },
		condition.NodeDevicesTainted: func(d *gpunode.Driver) { d.Counts.Tainted = 2 },
	} {
		in.Drivers = published(8)
		change(&in.Drivers[0])
		s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
		require.Equal(t, want, condition.Find(s.Conditions, condition.DevicesHealthy).Reason)
	}
	in.Drivers = published(1)
	in.Devices = []v1alpha1.DeviceGroup{{Driver: "gpu.nvidia.com", Kind: v1alpha1.DeviceOther, Type: "hologram", Count: 1}}
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	require.Equal(t, condition.NodeUnrecognizedTypes, condition.Find(s.Conditions, condition.DevicesHealthy).Reason)
}

func TestWanted(t *testing.T) {
	in := input(t)
	in.Groups = nil
	require.False(t, gpunode.Wanted(in))
	in.Drivers = []gpunode.Driver{{Name: "nobody.example.org"}}
	require.False(t, gpunode.Wanted(in), "slices of a driver no profile knows make no GPUNode")
	in.Drivers = published(1)
	require.True(t, gpunode.Wanted(in))
}

func TestSummaryLeavesOutDriversNobodyKnows(t *testing.T) {
	in := input(t)
	in.Drivers = append(published(8), gpunode.Driver{Name: "gpu.nobody.example", Registered: true, Counts: v1alpha1.DeviceCounts{Physical: 3, Published: 3}})
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	require.Equal(t, "gpu.nvidia.com", s.Summary.Drivers)
	require.Equal(t, "8", s.Summary.Devices)
	require.Len(t, s.Drivers, 2, "the status has them all")
}

func TestSummaryShowsPartsBesideCards(t *testing.T) {
	require.Equal(t, "8", gpunode.DevicesText(v1alpha1.DeviceCounts{Physical: 8, AllocatableWhole: 8}, nil))
	require.Equal(t, "2 (1 whole, 4 parts)", gpunode.DevicesText(v1alpha1.DeviceCounts{Physical: 2, AllocatableWhole: 1},
		[]v1alpha1.DeviceGroup{{Kind: v1alpha1.DevicePartition, Count: 4}, {Kind: v1alpha1.DeviceWhole, Count: 1}}))
}

func TestAllocated(t *testing.T) {
	in := input(t)
	in.Drivers = append(published(8), gpunode.Driver{Name: "compute-domain.nvidia.com", Counts: v1alpha1.DeviceCounts{Published: 2000}})
	var s v1alpha1.GPUNodeStatus
	is := func(want string, held map[string]int32) {
		t.Helper()
		in.Allocated = held
		s, _ = gpunode.Compute(s, in, start)
		require.Equal(t, want, s.Summary.Allocated)
	}
	is("", nil)
	is("0/8", map[string]int32{})
	is("3/8", map[string]int32{"gpu.nvidia.com": 3, "compute-domain.nvidia.com": 5, "net.example.com": 1})
	is("3/8", nil)
	before := s
	in.Drivers = nil
	is("3/0", map[string]int32{"gpu.nvidia.com": 3})
	is("", map[string]int32{})

	after := before
	after.Summary.Allocated = "8/8"
	require.True(t, gpunode.SameFacts(before, after))
	require.False(t, gpunode.SameFacts(before, s))
	require.Equal(t, "3/8", before.Summary.Allocated, "compared, not changed")
}
