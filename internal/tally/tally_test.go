package tally

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/claimstate"
	"github.com/gpu-dra/gpu-dra/internal/inventory"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

const gpu, channel = "gpu.example.com", "channel.example.com"

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func profiles(t testing.TB) *profile.Set {
	t.Helper()
	set, err := profile.NewSet(profile.Driver{
		Name: "example", DriverName: gpu, OtherDrivers: []string{channel}, PluginResources: []string{"example.com/gpu*"},
		Classes: []profile.Class{{Name: gpu}},
	})
	require.NoError(t, err)
	return set
}

func input(t testing.TB) Input {
	return Input{
		Profiles: profiles(t), Now: now, ClaimsKnown: true, DeviceClasses: []string{gpu, "own.example.com"},
		Settings: &settings.Settings{
			NodeGroups: []settings.NodeGroup{{Name: "a", Drivers: []string{"example"}}},
			DeviceClasses: settings.DeviceClasses{Extra: []settings.ExtraClass{
				{Name: "own.example.com", Driver: "example"}, {Name: "other.example.com"}}},
		},
		Locate: func(string, inventory.DeviceID) (inventory.Device, bool) { return inventory.Device{}, false },
	}
}

// lines are the samples of some metrics, without their common beginning.
func lines(in Input, metrics ...*Metric) []string {
	out := []string{}
	for _, s := range Count(in) {
		for _, m := range metrics {
			if s.Metric == m {
				out = append(out, fmt.Sprintf("%s{%s} %g", strings.TrimPrefix(m.Name, "gpu_dra_"), strings.Join(s.Values, ","), s.Value))
			}
		}
	}
	return out
}

func node(name string, groups []string, devices ...v1alpha1.DeviceGroup) v1alpha1.GPUNode {
	n := v1alpha1.GPUNode{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: v1alpha1.GPUNodeStatus{Groups: groups, Devices: devices}}
	d := v1alpha1.NodeDriver{Name: gpu, Profile: "example", Accelerator: true}
	for _, g := range devices {
		d.Devices.Published += g.Count
	}
	n.Status.Drivers = []v1alpha1.NodeDriver{d}
	return n
}

func group(product string, count, tainted int32) v1alpha1.DeviceGroup {
	return v1alpha1.DeviceGroup{Driver: gpu, Kind: v1alpha1.DeviceWhole, Product: product, Count: count, Tainted: tainted}
}

type device struct {
	name   string
	shared bool
}

// held is a claim that holds devices on a node; without any it waits for one of a class.
func held(namespace, node string, age time.Duration, class string, devices ...device) *claimstate.Claim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: "c", CreationTimestamp: metav1.NewTime(now.Add(-age)), OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod"}},
	}}
	c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class}}}
	if len(devices) == 0 {
		return claimstate.Condense(c)
	}
	a := &resourcev1.AllocationResult{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
		MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}}}
	for _, d := range devices {
		r := resourcev1.DeviceRequestAllocationResult{Driver: gpu, Pool: node, Device: d.name}
		if d.shared {
			r.ShareID = ptr.To(types.UID("s"))
		}
		a.Devices.Results = append(a.Devices.Results, r)
	}
	c.Status.Allocation = a
	if class != "idle" {
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: "p"}}
	}
	return claimstate.Condense(c)
}

func TestDevicesByState(t *testing.T) {
	in := input(t)
	in.Nodes = []v1alpha1.GPUNode{
		node("n1", []string{"a"}, group("Big", 4, 2), group("Small", 2, 0)), node("n2", []string{"a"}, group("Big", 4, 0)),
		node("n3", nil, group("Big", 1, 0)), node("n4", []string{"a", "b"}, group("Big", 1, 0)), node("wiped", []string{"a"}),
	}
	in.Nodes[0].Status.Devices = append(in.Nodes[0].Status.Devices, v1alpha1.DeviceGroup{Driver: channel, Count: 2000})
	in.Stack = &v1alpha1.GPUStack{Status: v1alpha1.GPUStackStatus{SharedPools: []v1alpha1.SharedPool{
		{PoolState: v1alpha1.PoolState{Driver: gpu, Name: "rack", Complete: true, Devices: v1alpha1.DeviceCounts{Published: 3, Tainted: 1}}},
		{PoolState: v1alpha1.PoolState{Driver: channel, Name: "c", Complete: true, Devices: v1alpha1.DeviceCounts{Published: 3}}},
	}}}
	where := map[inventory.DeviceID]inventory.Device{}
	for name, d := range map[string]inventory.Device{
		"ok": {Node: "n1", Product: "Big"}, "sick": {Node: "n1", Product: "Big", Tainted: true}, "small": {Node: "n1", Product: "Small"}, "rack": {Product: "Big"},
	} {
		where[inventory.IDOf(name)] = d
	}
	in.Locate = func(_ string, id inventory.DeviceID) (inventory.Device, bool) { d, ok := where[id]; return d, ok }
	in.Claims = []*claimstate.Claim{
		held("x", "n1", 0, gpu, device{name: "ok"}, device{name: "sick"}),
		held("x", "n1", 0, gpu, device{"small", true}), held("y", "n1", 0, gpu, device{"small", true}),
		held("x", "n1", 0, gpu, device{name: "rack"}),
		held("x", "wiped", 0, gpu, device{name: "gone"}),
		held("x", "n1", 0, gpu),
	}
	require.Equal(t, []string{
		"devices{,gpu.example.com,,allocated} 1", "devices{,gpu.example.com,,free} 1", "devices{,gpu.example.com,,tainted} 1",
		"devices{,gpu.example.com,Big,allocated} 0", "devices{,gpu.example.com,Big,free} 1", "devices{,gpu.example.com,Big,tainted} 0",
		"devices{a,gpu.example.com,,allocated} 1", "devices{a,gpu.example.com,,free} 0", "devices{a,gpu.example.com,,tainted} 0",
		"devices{a,gpu.example.com,Big,allocated} 2", "devices{a,gpu.example.com,Big,free} 5", "devices{a,gpu.example.com,Big,tainted} 1",
		"devices{a,gpu.example.com,Small,allocated} 1", "devices{a,gpu.example.com,Small,free} 1", "devices{a,gpu.example.com,Small,tainted} 0",
		"devices{a,b,gpu.example.com,Big,allocated} 0", "devices{a,b,gpu.example.com,Big,free} 1", "devices{a,b,gpu.example.com,Big,tainted} 0",
	}, lines(in, devices))

	in.ClaimsKnown = false
	require.Empty(t, lines(in, devices, claimsPending, claimsIdle), "not known is not none")
}

func TestClaims(t *testing.T) {
	in := input(t)
	in.Nodes = []v1alpha1.GPUNode{node("n1", []string{"a"}, group("Big", 1, 0))}
	in.Claims = []*claimstate.Claim{
		held("x", "", time.Minute, gpu), held("x", "", time.Hour, gpu), held("y", "", time.Second, "own.example.com"),
		held("y", "", 30*time.Second, "gpu.exmaple.com"), held("y", "", time.Hour, "other.example.com"),
	}
	in.DeviceClasses = append(in.DeviceClasses, "other.example.com")
	require.Equal(t, []string{
		"claims_pending{x,NotScheduled} 2", "claims_pending{y,ClassMissing} 1", "claims_pending{y,NotScheduled} 1",
		"claim_pending_seconds_max{x,NotScheduled} 3600", "claim_pending_seconds_max{y,ClassMissing} 30", "claim_pending_seconds_max{y,NotScheduled} 1",
	}, lines(in, claimsPending, claimPendingSeconds, claimsIdle))

	in.Claims = append(in.Claims, held("z", "n1", 0, "idle", device{name: "d"}))
	in.Locate = func(string, inventory.DeviceID) (inventory.Device, bool) {
		return inventory.Device{Node: "n1", Product: "Big"}, true
	}
	require.Equal(t, []string{
		"claims_pending{x,AllAllocated} 2", "claims_pending{y,AllAllocated} 1", "claims_pending{y,ClassMissing} 1", "claims_without_consumer{z} 1",
	}, lines(in, claimsPending, claimsIdle), "the one device is held, by nobody")

	in.Nodes[0].Status.Devices[0].Tainted = 1
	in.Claims = in.Claims[:1]
	require.Equal(t, []string{"claims_pending{x,NotPublished} 1"}, lines(in, claimsPending))
}

func TestNodesAndPools(t *testing.T) {
	in := input(t)
	require.Equal(t, []string{"nodes_double_managed{a} 0", "pools_incomplete{gpu.example.com} 0", "pools_empty{gpu.example.com} 0"},
		lines(in, nodes, nodesDouble, poolsIncomplete, poolsEmpty), "a sample of what is wanted, though nothing is there")

	plugin := []v1alpha1.PluginResource{{Name: "example.com/gpu-large", Allocatable: 8}}
	both, only, foreign := node("n1", []string{"a"}, group("Big", 1, 0)), node("n2", []string{"a"}), node("n3", []string{"a"}, group("Big", 1, 0))
	both.Status.PluginResources, only.Status.PluginResources = plugin, plugin
	foreign.Status.PluginResources = []v1alpha1.PluginResource{{Name: "another.example/gpu", Allocatable: 1}}
	pool := func(name string, complete bool, published int32) v1alpha1.PoolState {
		return v1alpha1.PoolState{Driver: gpu, Name: name, Complete: complete, Devices: v1alpha1.DeviceCounts{Published: published}}
	}
	spanning := pool("chassis", false, 4)
	both.Status.Drivers[0].Pools = []v1alpha1.PoolState{pool("n1", true, 1), spanning}
	only.Status.Drivers[0].Pools = []v1alpha1.PoolState{pool("n2", true, 0), spanning}
	foreign.Status.Drivers = append(foreign.Status.Drivers, v1alpha1.NodeDriver{Name: channel, Pools: []v1alpha1.PoolState{{Driver: channel, Name: "n3", Complete: true}}})
	in.Nodes = []v1alpha1.GPUNode{both, only, foreign}
	in.Stack = &v1alpha1.GPUStack{Status: v1alpha1.GPUStackStatus{SharedPools: []v1alpha1.SharedPool{{PoolState: pool("rack", false, 0)}}}}
	in.Groups = []v1alpha1.GPUNodeGroup{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1alpha1.GPUNodeGroupStatus{
		Nodes: v1alpha1.NodeCounts{Total: 5, Expected: 3, Registered: 1}}}}
	require.Equal(t, []string{
		"nodes{a,expected} 3", "nodes{a,missing} 2", "nodes{a,registered} 1", "nodes_double_managed{a} 1",
		"pools_incomplete{gpu.example.com} 2", "pools_empty{gpu.example.com} 1",
	}, lines(in, nodes, nodesDouble, poolsIncomplete, poolsEmpty))
}

func TestMemoryAndConditions(t *testing.T) {
	in := input(t)
	need, own := resource.MustParse("4Gi"), resource.MustParse("1Gi")
	in.Settings.MemoryReservation = settings.MemoryReservation{Mode: "Advise", SystemNeed: &need}
	in.Settings.NodeGroups = append(in.Settings.NodeGroups, settings.NodeGroup{Name: "b", MemoryReservation: settings.MemoryReservation{SystemNeed: &own}},
		settings.NodeGroup{Name: "c", MemoryReservation: settings.MemoryReservation{Mode: "Off"}})
	headroom := resource.MustParse("-64Mi")
	condition := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "NodesNotRegistered"}}
	in.Groups = []v1alpha1.GPUNodeGroup{
		{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1alpha1.GPUNodeGroupStatus{Conditions: condition,
			MemoryReservation: &v1alpha1.MemoryReservation{HeadroomBeforeSoftEviction: &headroom, Cards: 8}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Status: v1alpha1.GPUNodeGroupStatus{MemoryReservation: &v1alpha1.MemoryReservation{Cards: 1}}},
	}
	in.Stack = &v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Status: v1alpha1.GPUStackStatus{
		Conditions: []metav1.Condition{{Type: "SoleManager", Status: metav1.ConditionTrue, Reason: "SoleManager"}}}}
	in.Templates = []v1alpha1.GPUClaimTemplate{{ObjectMeta: metav1.ObjectMeta{Name: "t"}, Status: v1alpha1.GPUClaimTemplateStatus{
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionUnknown, Reason: "R"}}}}}
	require.Equal(t, []string{
		"memory_headroom_bytes{a} -6.7108864e+07", "memory_system_need_bytes{a} 4.294967296e+09", "memory_system_need_bytes{b} 1.073741824e+09",
		"condition{GPUClaimTemplate,t,Ready,Unknown,R} 1", "condition{GPUNodeGroup,a,Ready,False,NodesNotRegistered} 1", "condition{GPUStack,main,SoleManager,True,SoleManager} 1",
	}, lines(in, memoryHeadroom, memoryNeed, conditions))
}

// What a group is to have is said only where the recommendation aims at it.
func TestMemoryNeedIsSaidWhereItIsAimedAt(t *testing.T) {
	need := resource.MustParse("4Gi")
	for name, tc := range map[string]struct {
		cluster, group settings.MemoryReservation
		status         *v1alpha1.MemoryReservation
		said           bool
	}{
		"enough cards":          {settings.MemoryReservation{MinDevices: 8}, settings.MemoryReservation{}, &v1alpha1.MemoryReservation{Cards: 8}, true},
		"fewer":                 {settings.MemoryReservation{MinDevices: 8}, settings.MemoryReservation{}, &v1alpha1.MemoryReservation{Cards: 7}, false},
		"the group says fewer":  {settings.MemoryReservation{MinDevices: 8}, settings.MemoryReservation{MinDevices: 4}, &v1alpha1.MemoryReservation{Cards: 4}, true},
		"no card was seen yet":  {settings.MemoryReservation{}, settings.MemoryReservation{}, &v1alpha1.MemoryReservation{}, false},
		"nothing is known yet":  {settings.MemoryReservation{}, settings.MemoryReservation{}, nil, false},
		"off, as it was not":    {settings.MemoryReservation{}, settings.MemoryReservation{Mode: "Off"}, &v1alpha1.MemoryReservation{Cards: 8}, false},
		"whatever the term was": {settings.MemoryReservation{MinDevices: 8}, settings.MemoryReservation{}, &v1alpha1.MemoryReservation{Cards: 8, Term: "Platform"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			tc.cluster.Mode, tc.cluster.SystemNeed = "Advise", &need
			in.Settings.MemoryReservation, in.Settings.NodeGroups[0].MemoryReservation = tc.cluster, tc.group
			in.Groups = []v1alpha1.GPUNodeGroup{{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: v1alpha1.GPUNodeGroupStatus{MemoryReservation: tc.status}}}
			want := []string{}
			if tc.said {
				want = append(want, "memory_system_need_bytes{a} 4.294967296e+09")
			}
			require.Equal(t, want, lines(in, memoryNeed))
		})
	}
}

func TestNothingIsKnown(t *testing.T) {
	require.Empty(t, Count(Input{Profiles: &profile.Set{}}))
	require.Empty(t, Count(Input{Profiles: &profile.Set{}, ClaimsKnown: true}))
}

// Whatever claims there are, the states of a row add up to what is published where nothing is held that is not, each sample has
// one value for each label, and no two samples are of the same labels, which Prometheus would refuse with all others.
func TestSamplesAreWellFormed(t *testing.T) {
	set := profiles(t)
	rapid.Check(t, func(t *rapid.T) {
		in := Input{Profiles: set, Now: now, ClaimsKnown: true, DeviceClasses: []string{gpu}}
		where := map[inventory.DeviceID]inventory.Device{}
		var names []device
		published := 0
		for i := range rapid.IntRange(0, 3).Draw(t, "nodes") {
			name := fmt.Sprint("n", i)
			var tainted, count int32
			for range rapid.IntRange(0, 4).Draw(t, "devices") {
				id := fmt.Sprint("d", len(names))
				d := inventory.Device{Node: name, Product: "P", Tainted: rapid.Bool().Draw(t, "tainted")}
				where[inventory.IDOf(id)] = d
				names = append(names, device{id, false})
				count++
				if d.Tainted {
					tainted++
				}
			}
			published += int(count)
			in.Nodes = append(in.Nodes, node(name, []string{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "group")}, group("P", count, tainted)))
		}
		in.Locate = func(_ string, id inventory.DeviceID) (inventory.Device, bool) { d, ok := where[id]; return d, ok }
		for _, d := range names {
			if rapid.Bool().Draw(t, "held") {
				in.Claims = append(in.Claims, held("x", where[inventory.IDOf(d.name)].Node, 0, gpu, d))
			}
		}
		seen, sum := map[string]bool{}, 0.0
		for _, s := range Count(in) {
			key := s.Name + strings.Join(s.Values, "\x00")
			if seen[key] || len(s.Values) != len(s.Labels) {
				t.Fatalf("%+v", s)
			}
			seen[key] = true
			if s.Metric == devices {
				sum += s.Value
			}
		}
		if int(sum) != published {
			t.Fatalf("states add up to %v, published are %d", sum, published)
		}
	})
}
