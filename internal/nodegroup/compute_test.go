package nodegroup_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func input(t *testing.T, nodes ...v1alpha1.GPUNode) nodegroup.Input {
	t.Helper()
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	set, err := profile.NewSet(builtin...)
	require.NoError(t, err)
	distributions, err := profile.Distributions()
	require.NoError(t, err)
	beat := metav1.NewTime(now.Add(-10 * time.Second))
	return nodegroup.Input{
		Group:        settings.NodeGroup{Name: "gpu", Drivers: []string{"nvidia"}},
		Platform:     nodegroup.Platform{Lookup: nodegroup.Found, UID: "u"},
		Hooks:        true,
		Nodes:        nodes,
		Stack:        &v1alpha1.GPUStackStatus{Synced: true, Heartbeat: &beat, SettingsHash: "h"},
		SettingsHash: "h",
		Distribution: distributions["Deckhouse"],
		Profiles:     set,
	}
}

func node(name string, cards int32, registered bool, change ...func(*v1alpha1.GPUNode)) v1alpha1.GPUNode {
	status, r := metav1.ConditionFalse, condition.NodeDriverLost
	if registered {
		status, r = metav1.ConditionTrue, condition.NodeRegistered
	}
	memory := resource.MustParse("80Gi")
	n := v1alpha1.GPUNode{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.GPUNodeStatus{
		Groups: []string{"gpu"},
		Drivers: []v1alpha1.NodeDriver{{Name: "gpu.nvidia.com", Expected: true, Accelerator: true, Registered: registered, HighWater: cards,
			Devices: v1alpha1.DeviceCounts{Physical: cards, Published: cards, AllocatableWhole: cards}}},
		Devices:    []v1alpha1.DeviceGroup{{Driver: "gpu.nvidia.com", Kind: v1alpha1.DeviceWhole, Product: "P", Memory: &memory, Count: cards}},
		Conditions: []metav1.Condition{condition.New(condition.Registered, status, r, "")},
	}}
	for _, c := range change {
		c(&n)
	}
	return n
}

func find(t *testing.T, s v1alpha1.GPUNodeGroupStatus, conditionType string) metav1.Condition {
	t.Helper()
	c := condition.Find(s.Conditions, conditionType)
	require.NotNil(t, c, conditionType)
	return *c
}

func TestReady(t *testing.T) {
	all := []v1alpha1.GPUNode{node("a", 8, true), node("b", 8, true)}
	for _, c := range []struct {
		name   string
		change func(*nodegroup.Input)
		status metav1.ConditionStatus
		reason string
	}{
		{"all registered", func(*nodegroup.Input) {}, "True", condition.GroupReady},
		{"one missing", func(in *nodegroup.Input) { in.Nodes[1] = node("b", 0, false) }, "False", condition.GroupNodesMissing},
		{"scaled to zero", func(in *nodegroup.Input) { in.Nodes = nil }, "True", condition.GroupNoNodes},
		{"nodes of other groups only", func(in *nodegroup.Input) {
			in.Nodes = []v1alpha1.GPUNode{node("c", 8, false, func(n *v1alpha1.GPUNode) { n.Status.Groups = []string{"other"} })}
		}, "True", condition.GroupNoNodes},
		{"passive and terminating nodes are not expected", func(in *nodegroup.Input) {
			in.Nodes = []v1alpha1.GPUNode{
				node("a", 8, false, func(n *v1alpha1.GPUNode) { n.Status.Passive = true }),
				node("b", 8, false, func(n *v1alpha1.GPUNode) { n.Status.Terminating = true }),
			}
		}, "True", condition.GroupNoNodes},
		{"no stack yet", func(in *nodegroup.Input) { in.Stack = nil }, "Unknown", condition.GroupControllerNotSynced},
		{"controller not synced", func(in *nodegroup.Input) { in.Stack.Synced = false }, "Unknown", condition.GroupControllerNotSynced},
		{"controller dead", func(in *nodegroup.Input) {
			old := metav1.NewTime(now.Add(-v1alpha1.HeartbeatStaleAfter - time.Second))
			in.Stack.Heartbeat = &old
		}, "Unknown", condition.GroupControllerStale},
		{"controller with old settings", func(in *nodegroup.Input) { in.Stack.SettingsHash = "before" }, "Unknown", condition.GroupSettingsNotSeen},
		{"unknown profile", func(in *nodegroup.Input) { in.Group.Drivers = []string{"nvidia", "nobody"} }, "False", condition.GroupDriverUnknown},
		{"no NodeGroup", func(in *nodegroup.Input) { in.Platform.Lookup = nodegroup.NotFound }, "False", condition.GroupNodeGroupMissing},
		{"no NodeGroup kind", func(in *nodegroup.Input) { in.Platform.Lookup = nodegroup.KindAbsent }, "True", condition.GroupReady},
		{"no selector", func(in *nodegroup.Input) { in.Distribution.NodeGroupLabel = "" }, "False", condition.GroupNoSelector},
		{"kubelets where the plugin cannot find them", func(in *nodegroup.Input) { movedKubelets(in, "/data/kubelet") }, "False", condition.GroupKubeletRoot},
		{"so, before any node is there", func(in *nodegroup.Input) { movedKubelets(in, "/data/kubelet"); in.Nodes, in.Stack = nil, nil }, "False", condition.GroupKubeletRoot},
		{"kubelets where they are, in other words", func(in *nodegroup.Input) { movedKubelets(in, "/var/lib/kubelet/") }, "True", condition.GroupReady},
		{"moved kubelets and a plugin that is told", func(in *nodegroup.Input) { in.Platform.KubeletRootDir = "/data/kubelet" }, "True", condition.GroupReady},
		{"moved kubelets that are left to another manager", func(in *nodegroup.Input) {
			movedKubelets(in, "/data/kubelet")
			in.Group.Passive = true
			in.Nodes = []v1alpha1.GPUNode{node("a", 8, false, passive)}
		}, "True", condition.GroupNoNodes},
		{"so, but for one node", func(in *nodegroup.Input) { movedKubelets(in, "/data/kubelet"); in.Group.Passive = true }, "False", condition.GroupKubeletRoot},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := input(t, append([]v1alpha1.GPUNode(nil), all...)...)
			c.change(&in)
			got := find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now), condition.Ready)
			require.Equal(t, c.status, got.Status, got.Message)
			require.Equal(t, c.reason, got.Reason, got.Message)
		})
	}
}

// movedKubelets has the NodeGroup say where its kubelets are, and the group run a driver whose plugin no flag tells it.
func movedKubelets(in *nodegroup.Input, root string) {
	in.Platform.KubeletRootDir = root
	in.Group.Drivers = append(in.Group.Drivers, "intel-gpu")
}

func TestKubeletRootThatThePluginCannotUse(t *testing.T) {
	says := func(change func(*nodegroup.Input)) string {
		in := input(t, node("a", 8, true))
		change(&in)
		return find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now), condition.Ready).Message
	}
	const rest = `: found "/data/kubelet", expected "/var/lib/kubelet": the plugin of the driver intel-gpu works with no other; ` +
		"move the kubelets, or take the driver off nodeGroups[name=gpu].drivers"
	require.Equal(t, "spec.kubelet.rootDir of NodeGroup gpu"+rest, says(func(in *nodegroup.Input) { movedKubelets(in, "/data/kubelet") }))
	require.Equal(t, "nodeGroups[name=gpu].kubeletRootDir"+rest, says(func(in *nodegroup.Input) {
		movedKubelets(in, "/var/lib/kubelet")
		in.Group.KubeletRootDir = "/data/kubelet"
	}), "the settings go over the NodeGroup")
	require.Equal(t, "the distribution Deckhouse"+rest, says(func(in *nodegroup.Input) {
		movedKubelets(in, "")
		in.Distribution.KubeletRootDir = "/data/kubelet"
	}))
}

func TestCounts(t *testing.T) {
	s := nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, input(t, node("b", 8, true), node("a", 4, true), node("c", 0, false)), now)
	require.Equal(t, v1alpha1.NodeCounts{Total: 3, Expected: 3, Registered: 2,
		Missing: []v1alpha1.MissingNode{{Name: "c", Reason: condition.NodeDriverLost}}}, s.Nodes)
	require.EqualValues(t, 12, s.Drivers[0].Devices.Physical)
	require.EqualValues(t, 2, s.Drivers[0].Nodes)
	require.EqualValues(t, 8, s.DevicesPerNode)
	require.Len(t, s.Devices, 1, "like devices of several nodes are one row")
	foreign := node("d", 8, true, func(n *v1alpha1.GPUNode) {
		n.Status.Devices = append(n.Status.Devices, v1alpha1.DeviceGroup{Driver: "gpu.nobody.example", Kind: v1alpha1.DeviceOther, Count: 3})
	})
	require.Len(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, input(t, foreign), now).Devices, 1, "of the group's own drivers only")
	require.EqualValues(t, 12, s.Devices[0].Count)
	require.Equal(t, v1alpha1.GroupSummary{Drivers: "gpu.nvidia.com", Nodes: "2/3", Devices: "12"}, s.Summary)
}

// A DaemonSet that selects no node of the group has no pod whose state anybody would look at.
func TestNoPodOnAnyNode(t *testing.T) {
	without := func(n *v1alpha1.GPUNode) { n.Status.Conditions[0].Reason = condition.NodeNoDriverPod }
	ready := func(nodes ...v1alpha1.GPUNode) metav1.Condition {
		return find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, input(t, nodes...), now), condition.Ready)
	}
	c := ready(node("a", 0, false, without), node("b", 0, false, without), node("c", 0, false, passive), node("d", 0, false, terminating))
	require.Equal(t, condition.GroupNodesMissing, c.Reason)
	require.Contains(t, c.Message, "none of the 2 expected nodes has a pod of its driver")
	require.Contains(t, c.Message, "kubectl get daemonset -A -l gpu-dra.deckhouse.io/node-group=gpu")
	for _, other := range []v1alpha1.GPUNode{node("b", 0, false), node("b", 8, true)} {
		c = ready(node("a", 0, false, without), other)
		require.Equal(t, condition.GroupNodesMissing, c.Reason)
		require.Contains(t, c.Message, "of 2 expected nodes are registered")
	}
	c = ready(node("a", 8, false, without, passive))
	require.Equal(t, condition.GroupNoNodes, c.Reason)
}

func TestMissingIsCapped(t *testing.T) {
	var nodes []v1alpha1.GPUNode
	for i := range 25 {
		nodes = append(nodes, node(fmt.Sprintf("n%02d", i), 0, false))
	}
	s := nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, input(t, nodes...), now)
	require.Len(t, s.Nodes.Missing, 10)
	require.EqualValues(t, 15, s.Nodes.MissingNotShown)
	require.Equal(t, "n00", s.Nodes.Missing[0].Name)
}

func TestExpectedDevices(t *testing.T) {
	in := input(t, node("a", 8, true), node("b", 7, true))
	require.Equal(t, condition.GroupDevicesNotSaid, find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now), condition.DevicesExpected).Reason)
	in.Group.ExpectedDevices = 8
	c := find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now), condition.DevicesExpected)
	require.Equal(t, condition.GroupDevicesFewer, c.Reason)
	require.Contains(t, c.Message, "b (7)")
	require.NotContains(t, c.Message, "a (")
}

// A render must not shrink because facts are in doubt: the last known count stands until the controller has synced.
func TestDevicesPerNodeOutlivesDoubt(t *testing.T) {
	in := input(t)
	in.Stack = nil
	prev := v1alpha1.GPUNodeGroupStatus{DevicesPerNode: 8}
	require.EqualValues(t, 8, nodegroup.Compute(prev, in, now).DevicesPerNode)
	in = input(t)
	require.Zero(t, nodegroup.Compute(prev, in, now).DevicesPerNode, "the nodes are really gone")
}

// The exporter's memory limit follows from it: channels and cards of a network are none of its business.
func TestDevicesPerNodeCountsAccelerators(t *testing.T) {
	n := node("a", 8, true)
	n.Status.Drivers = append(n.Status.Drivers, v1alpha1.NodeDriver{Name: "compute-domain.nvidia.com", HighWater: 2048},
		v1alpha1.NodeDriver{Name: "npu.example.com", Accelerator: true, HighWater: 2})
	require.EqualValues(t, 10, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, input(t, n, node("b", 4, true)), now).DevicesPerNode)
}

func TestOtherManagerInNodeGroup(t *testing.T) {
	in := input(t, node("a", 8, true))
	in.Platform.Managers = []v1alpha1.Manager{{Name: "node-manager", Evidence: "spec.gpu"}}
	c := find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now), condition.SoleManager)
	require.Equal(t, condition.GroupOtherManager, c.Reason)
	require.Contains(t, c.Message, "spec.gpu")

	in.Group.Passive = true
	require.Equal(t, condition.GroupSoleManager, find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now), condition.SoleManager).Reason, "it is left to it")
}

func TestOtherManagerOnNodes(t *testing.T) {
	theirs := node("a", 8, true)
	theirs.Status.Conditions = append(theirs.Status.Conditions, metav1.Condition{Type: condition.SoleManager, Status: metav1.ConditionFalse, Reason: condition.NodeOtherManager})
	in := input(t, theirs)
	require.Equal(t, condition.GroupOtherManager, find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now), condition.SoleManager).Reason)

	in.Nodes[0].Status.Passive = true
	require.Equal(t, condition.GroupSoleManager, find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now), condition.SoleManager).Reason, "it is left to it")
}

func TestSameFactsGiveTheSameStatusInAnyOrder(t *testing.T) {
	base := input(t)
	rapid.Check(t, func(rt *rapid.T) {
		var nodes []v1alpha1.GPUNode
		for i := range rapid.IntRange(0, 8).Draw(rt, "nodes") {
			nodes = append(nodes, node(fmt.Sprintf("n%d", i), rapid.Int32Range(0, 8).Draw(rt, "cards"), rapid.Bool().Draw(rt, "registered")))
		}
		in := base
		in.Nodes = nodes
		first := nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now)
		in.Nodes = rapid.Permutation(nodes).Draw(rt, "order")
		again := nodegroup.Compute(first, in, now.Add(time.Minute))
		if fmt.Sprint(first) != fmt.Sprint(again) {
			rt.Fatalf("differs:\n%v\n%v", first, again)
		}
	})
}
