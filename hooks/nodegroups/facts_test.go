package nodegroups

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/pkg/jq"
	"github.com/deckhouse/module-sdk/testing/helpers"
	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/hooktest"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// hostMemory of a node; without huge pages where they are empty.
func hostMemory(capacity, allocatable, hugePages string) *v1alpha1.NodeMemory {
	out := &v1alpha1.NodeMemory{Capacity: resource.MustParse(capacity), Allocatable: resource.MustParse(allocatable)}
	if hugePages != "" {
		q := resource.MustParse(hugePages)
		out.HugePages = &q
	}
	return out
}

// full is a GPUNode with every field that the controller writes.
func full(name string, cards int32, registered bool) v1alpha1.GPUNode {
	memory, capacity := resource.MustParse("81559Mi"), resource.MustParse("1Ti")
	at := metav1.NewTime(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
	status, reason := metav1.ConditionFalse, condition.NodeDriverLost
	if registered {
		status, reason = metav1.ConditionTrue, condition.NodeRegistered
	}
	counts := v1alpha1.DeviceCounts{Physical: cards, Published: cards + 1, AllocatableWhole: cards, Tainted: 1}
	return v1alpha1.GPUNode{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUNode"},
		ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "17", OwnerReferences: []metav1.OwnerReference{{Kind: "Node", Name: name}}},
		Status: v1alpha1.GPUNodeStatus{
			Groups:  []string{"gpu"},
			Memory:  &v1alpha1.NodeMemory{Capacity: capacity, Allocatable: capacity},
			Runtime: &v1alpha1.NodeRuntime{KubeletVersion: "v1.34.4"},
			Drivers: []v1alpha1.NodeDriver{{
				Name: "gpu.nvidia.com", Profile: "nvidia", Expected: true, Accelerator: true, Registered: registered, LostSince: &at,
				HighWater: cards, Devices: counts,
				Pools: []v1alpha1.PoolState{{Driver: "gpu.nvidia.com", Name: name, Generation: 7, Devices: counts}},
			}},
			Devices: []v1alpha1.DeviceGroup{
				{Driver: "gpu.nvidia.com", Kind: v1alpha1.DeviceWhole, Type: "gpu", Product: "P", Memory: &memory, Count: cards, Tainted: 1},
				{Driver: "gpu.nvidia.com", Kind: v1alpha1.DevicePartition, Type: "mig", Partition: "1g.10gb", Count: 1},
			},
			Summary: v1alpha1.NodeSummary{Devices: "8"},
			Conditions: []metav1.Condition{
				{Type: condition.Registered, Status: status, Reason: reason, Message: "m", LastTransitionTime: at},
				{Type: condition.SoleManager, Status: "False", Reason: condition.NodeDevicePlugin, LastTransitionTime: at},
				{Type: condition.DevicesHealthy, Status: "True", Reason: condition.NodeDevicesHealthy, LastTransitionTime: at},
				{Type: condition.RuntimeReady, Status: "True", Reason: condition.NodeCDISupported, LastTransitionTime: at},
			},
		},
	}
}

func toJSON(t require.TestingT, object any) string {
	data, err := json.Marshal(object)
	require.NoError(t, err)
	return string(data)
}

var queries = map[string]*jq.Query{}

// filtered is the snapshot that addon-operator makes of an object.
func filtered(t require.TestingT, filter, object string) pkg.Snapshot {
	query := queries[filter]
	if query == nil {
		var err error
		query, err = jq.NewQuery(filter)
		require.NoError(t, err)
		queries[filter] = query
	}
	result, err := query.FilterStringObject(context.Background(), object)
	require.NoError(t, err)
	return helpers.SnapshotJSON(result.String())
}

func TestFiltersAreTotal(t *testing.T) {
	n := full("n", 8, true)
	n.Status.Memory = hostMemory("1Ti", "1000Gi", "2Gi")
	hooktest.RequireTotal(t, nodeFilter, toJSON(t, n))
	beat := metav1.Now()
	hooktest.RequireTotal(t, stackFilter, toJSON(t, v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: "main"},
		Status: v1alpha1.GPUStackStatus{Synced: true, SettingsHash: "h", Heartbeat: &beat}}))
}

// Whatever the filter gives, the handler goes on; at most it leaves the node out.
func TestNodesOfAnyShapeAreRead(t *testing.T) {
	for _, shape := range hooktest.Hostile(t, toJSON(t, full("n", 8, true))) {
		nodesByGroup([]pkg.Snapshot{filtered(t, nodeFilter, shape)})
		stackStatus([]pkg.Snapshot{filtered(t, stackFilter, shape)}, nil)
	}
}

func TestFiltersLeaveOutWhatChurns(t *testing.T) {
	a := full("n", 8, true)
	b := a.DeepCopy()
	b.ResourceVersion = "18"
	later := metav1.NewTime(time.Date(2026, 4, 1, 0, 0, 0, 0, time.UTC))
	for i := range b.Status.Conditions {
		b.Status.Conditions[i].LastTransitionTime = later
		b.Status.Conditions[i].Message = "another text"
	}
	b.Status.Drivers[0].LostSince = &later
	b.Status.Drivers[0].Pools[0].Generation++
	b.Status.Runtime.KubeletVersion = "v1.34.5"
	// Pods come and go.
	b.Status.Summary.Allocated = "3/8"
	require.Equal(t, filtered(t, nodeFilter, toJSON(t, a)).String(), filtered(t, nodeFilter, toJSON(t, b)).String())

	one := v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Status: v1alpha1.GPUStackStatus{Synced: true, Heartbeat: &later}}
	two := v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: "main", ResourceVersion: "1"}, Status: v1alpha1.GPUStackStatus{Synced: true}}
	require.Equal(t, filtered(t, stackFilter, toJSON(t, one)).String(), filtered(t, stackFilter, toJSON(t, two)).String())
}

// The core must not see a difference between a GPUNode and what the filter leaves of it.
func TestFilterKeepsAllThatTheCoreReads(t *testing.T) {
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	profiles, err := profile.NewSet(builtin...)
	require.NoError(t, err)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	beat := metav1.NewTime(now)
	rapid.Check(t, func(rt *rapid.T) {
		var nodes []v1alpha1.GPUNode
		var snapshots []pkg.Snapshot
		for i := range rapid.IntRange(0, 5).Draw(rt, "nodes") {
			n := full(fmt.Sprintf("n%d", i), rapid.Int32Range(0, 9).Draw(rt, "cards"), rapid.Bool().Draw(rt, "registered"))
			n.Status.Passive, n.Status.Terminating = rapid.Bool().Draw(rt, "passive"), rapid.Bool().Draw(rt, "terminating")
			n.Status.Groups = rapid.SampledFrom([][]string{nil, {"gpu"}, {"gpu", "other"}, {"other"}}).Draw(rt, "groups")
			n.Status.Drivers[0].Expected = rapid.Bool().Draw(rt, "expected")
			n.Status.Drivers[0].Devices.Published = rapid.SampledFrom([]int32{8, 40}).Draw(rt, "published")
			n.Status.Drivers[0].Accelerator = rapid.Bool().Draw(rt, "accelerator")
			n.Status.Memory = rapid.SampledFrom([]*v1alpha1.NodeMemory{nil, n.Status.Memory, hostMemory("2Ti", "2000Gi", ""), hostMemory("512Gi", "480Gi", "16Gi")}).Draw(rt, "memory")
			n.Status.Conditions[0].Reason = rapid.SampledFrom([]string{condition.NodeDriverLost, condition.NodeNoDriverPod}).Draw(rt, "why")
			n.Status.Conditions[3] = rapid.SampledFrom([]metav1.Condition{
				n.Status.Conditions[3],
				{Type: condition.RuntimeReady, Status: "Unknown", Reason: condition.NodeCDIOffByDefault},
				{Type: condition.RuntimeReady, Status: "Unknown", Reason: condition.NodeRuntimeUnknown},
				{Type: condition.RuntimeReady, Status: "False", Reason: condition.NodeCDIUnsupported},
			}).Draw(rt, "runtime")
			n.Status.Conditions = n.Status.Conditions[:rapid.IntRange(0, 4).Draw(rt, "conditions")]
			n.Status.Devices = n.Status.Devices[:rapid.IntRange(0, 2).Draw(rt, "devices")]
			nodes = append(nodes, n)
			snapshots = append(snapshots, filtered(rt, nodeFilter, toJSON(rt, n)))
		}
		in := nodegroup.Input{
			Group:    settings.NodeGroup{Name: "gpu", Drivers: []string{"nvidia"}, ExpectedDevices: 4},
			Platform: nodegroup.Platform{Lookup: nodegroup.Found}, Profiles: profiles,
			MemoryReservation: settings.MemoryReservation{Mode: "Apply", MinDevices: 1},
			Stack:             &v1alpha1.GPUStackStatus{Synced: true, Heartbeat: &beat}, Distribution: profile.Distribution{NodeGroupLabel: "l"},
		}
		in.Nodes = nodes
		want := nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now)
		wantMemory := in.Memory(now)
		wantOff, wantMany := nodegroup.CDIOff(in, false, now), nodegroup.ManyDevices(in, false, now)
		// In any order, and twice, as the SDK does when a run has two binding contexts.
		twice := rapid.Permutation(append(snapshots, snapshots...)).Draw(rt, "order")
		in.Nodes = nodesByGroup(twice)["gpu"]
		require.Equal(rt, toJSON(rt, want), toJSON(rt, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now)))
		require.Equal(rt, wantOff, nodegroup.CDIOff(in, false, now))
		require.Equal(rt, wantMany, nodegroup.ManyDevices(in, false, now))
		require.Equal(rt, wantMemory, in.Memory(now))
	})
}
