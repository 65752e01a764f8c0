package nodegroup_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// bytes that a node of 2 TiB with 8 cards should reserve, and what its kubelet reserves on Deckhouse by itself.
const (
	needed = 25068 << 20
	auto   = 23836019917
)

// host gives a node 2 TiB of memory, of which its kubelet reserves so many bytes.
func host(reserved int64) func(*v1alpha1.GPUNode) {
	return func(n *v1alpha1.GPUNode) {
		capacity := int64(2048) << 30
		n.Status.Memory = &v1alpha1.NodeMemory{
			Capacity:    *resource.NewQuantity(capacity, resource.BinarySI),
			Allocatable: *resource.NewQuantity(capacity-reserved-21990232556, resource.BinarySI),
		}
	}
}

func withMemory(t *testing.T, mode string, nodes ...v1alpha1.GPUNode) nodegroup.Input {
	t.Helper()
	in := input(t, nodes...)
	s, err := settings.Parse(nil)
	require.NoError(t, err)
	in.MemoryReservation = s.MemoryReservation
	in.MemoryReservation.Mode = mode
	in.Platform.NodeGroup = reservation.NodeGroup{Name: "gpu", Reservation: map[string]any{"mode": "Auto"}}
	return in
}

func TestMemoryReserved(t *testing.T) {
	written := func(in *nodegroup.Input) {
		d := in.Memory(now).Decision
		require.Equal(t, reservation.Write, d.Action)
		in.Platform.NodeGroup.Reservation, in.Platform.NodeGroup.Annotation = d.Reservation, d.Annotation
	}
	mode := func(m string) func(*nodegroup.Input) {
		return func(in *nodegroup.Input) { in.MemoryReservation.Mode = m }
	}
	ofGroup := func(m string) func(*nodegroup.Input) {
		return func(in *nodegroup.Input) { in.Group.MemoryReservation.Mode = m }
	}
	lookup := func(l nodegroup.Lookup) func(*nodegroup.Input) {
		return func(in *nodegroup.Input) { in.Platform = nodegroup.Platform{Lookup: l, Message: "forbidden"} }
	}
	stale := func(in *nodegroup.Input) { in.Stack = nil }
	large := func(in *nodegroup.Input) { in.Nodes = []v1alpha1.GPUNode{node("a", 8, true, host(needed))} }
	for name, c := range map[string]struct {
		changes []func(*nodegroup.Input)
		status  metav1.ConditionStatus
		reason  string
		action  reservation.Action
	}{
		"advice":                      {nil, "False", condition.GroupMemoryAdvise, reservation.LeaveAlone},
		"advice that is followed":     {[]func(*nodegroup.Input){large}, "True", condition.GroupMemoryAdvise, reservation.LeaveAlone},
		"off":                         {[]func(*nodegroup.Input){mode("Off")}, "Unknown", condition.GroupMemoryOff, reservation.LeaveAlone},
		"off for the group":           {[]func(*nodegroup.Input){mode("Apply"), ofGroup("Off")}, "Unknown", condition.GroupMemoryOff, reservation.LeaveAlone},
		"apply":                       {[]func(*nodegroup.Input){mode("Apply")}, "False", condition.GroupMemoryApplying, reservation.Write},
		"apply for the group":         {[]func(*nodegroup.Input){mode("Off"), ofGroup("Apply")}, "False", condition.GroupMemoryApplying, reservation.Write},
		"applied, kubelets as yet":    {[]func(*nodegroup.Input){mode("Apply"), written}, "False", condition.GroupMemoryApplied, reservation.LeaveAlone},
		"applied":                     {[]func(*nodegroup.Input){mode("Apply"), written, large}, "True", condition.GroupMemoryApplied, reservation.LeaveAlone},
		"applied, then advice":        {[]func(*nodegroup.Input){mode("Apply"), written, mode("Advise")}, "False", condition.GroupMemoryRestoring, reservation.Restore},
		"given back by doubt":         {[]func(*nodegroup.Input){mode("Apply"), written, mode("Advise"), stale}, "Unknown", condition.GroupMemoryRestoring, reservation.Restore},
		"switched off by doubt":       {[]func(*nodegroup.Input){mode("Apply"), written, mode("Off"), stale}, "Unknown", condition.GroupMemoryRestoring, reservation.Restore},
		"not applied in doubt":        {[]func(*nodegroup.Input){mode("Apply"), stale}, "Unknown", condition.GroupMemoryUnknown, reservation.LeaveAlone},
		"no advice in doubt":          {[]func(*nodegroup.Input){stale}, "Unknown", condition.GroupMemoryUnknown, reservation.LeaveAlone},
		"off in doubt":                {[]func(*nodegroup.Input){mode("Off"), stale}, "Unknown", condition.GroupMemoryOff, reservation.LeaveAlone},
		"no NodeGroups here":          {[]func(*nodegroup.Input){mode("Apply"), lookup(nodegroup.NotLookedUp)}, "False", condition.GroupMemoryNoNodeGroup, reservation.LeaveAlone},
		"no such kind":                {[]func(*nodegroup.Input){mode("Apply"), lookup(nodegroup.KindAbsent)}, "False", condition.GroupMemoryNoNodeGroup, reservation.LeaveAlone},
		"no such NodeGroup":           {[]func(*nodegroup.Input){mode("Apply"), lookup(nodegroup.NotFound)}, "False", condition.GroupMemoryNoNodeGroup, reservation.LeaveAlone},
		"no NodeGroup, in doubt":      {[]func(*nodegroup.Input){stale, lookup(nodegroup.NotFound)}, "Unknown", condition.GroupMemoryUnknown, reservation.LeaveAlone},
		"no NodeGroup, off":           {[]func(*nodegroup.Input){mode("Off"), lookup(nodegroup.NotFound)}, "Unknown", condition.GroupMemoryOff, reservation.LeaveAlone},
		"unreadable":                  {[]func(*nodegroup.Input){mode("Apply"), lookup(nodegroup.Unreadable)}, "False", condition.GroupMemoryUnreadable, reservation.LeaveAlone},
		"a profile that is not right": {[]func(*nodegroup.Input){mode("Apply"), func(in *nodegroup.Input) { in.Distribution.KubeletMemory.EvictionHard = "much" }}, "Unknown", condition.GroupMemoryUnknown, reservation.LeaveAlone},
		"no node":                     {[]func(*nodegroup.Input){mode("Apply"), func(in *nodegroup.Input) { in.Nodes = nil }}, "Unknown", condition.GroupMemoryUnknown, reservation.LeaveAlone},
		"nodes of other groups": {[]func(*nodegroup.Input){mode("Apply"), func(in *nodegroup.Input) { in.Nodes[0].Status.Groups = []string{"other"} }}, "Unknown",
			condition.GroupMemoryUnknown, reservation.LeaveAlone},
	} {
		t.Run(name, func(t *testing.T) {
			in := withMemory(t, "Advise", node("a", 8, true, host(auto)))
			for _, change := range c.changes {
				change(&in)
			}
			got := find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now), condition.MemoryReserved)
			require.Equal(t, c.status, got.Status, got.Message)
			require.Equal(t, c.reason, got.Reason, got.Message)
			require.NotEmpty(t, got.Message)
			m := in.Memory(now)
			require.Equal(t, c.action, m.Decision.Action)
			require.Equal(t, got.Message, m.Decision.Message, "what is done is what is said")
		})
	}
}

func TestStatusOfMemory(t *testing.T) {
	in := withMemory(t, "Advise", node("a", 8, true, host(auto)))
	status := nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now)
	m := status.MemoryReservation
	require.EqualValues(t, needed, m.Recommended.Value())
	require.EqualValues(t, auto, m.Applied.Value())
	require.Equal(t, "Advise", m.Mode)
	require.Equal(t, "a", m.DecidedBy)
	require.EqualValues(t, 8, m.Cards)

	// While the controller may be dead, a node that is not there has not left.
	in.Nodes = nil
	later := now.Add(v1alpha1.HeartbeatStaleAfter + time.Minute)
	require.Equal(t, m, nodegroup.Compute(status, in, later).MemoryReservation)
	require.False(t, in.Memory(later).Certain)
	require.Nil(t, nodegroup.Compute(status, in, now).MemoryReservation.Recommended)
	require.True(t, in.Memory(now).Certain)

	in.MemoryReservation.Mode = "Off"
	require.Nil(t, nodegroup.Compute(status, in, now).MemoryReservation)
	require.Nil(t, nodegroup.Compute(status, in, later).MemoryReservation)

	in.MemoryReservation = settings.MemoryReservation{}
	silent := nodegroup.Compute(status, in, now)
	require.Nil(t, silent.MemoryReservation)
	require.Nil(t, condition.Find(silent.Conditions, condition.MemoryReserved), "nothing is said without settings")
}

// A reboot takes neither cards nor memory from the group: the high-water count stands.
func TestMemoryDoesNotFollowRawCounts(t *testing.T) {
	in := withMemory(t, "Apply", node("a", 8, true, host(auto)))
	before := in.Memory(now)
	in.Nodes[0] = node("a", 0, false, host(auto), func(n *v1alpha1.GPUNode) { n.Status.Drivers[0].HighWater = 8 })
	require.Equal(t, before, in.Memory(now))
}

// Every reason of the core has its row in docs/conditions.md, and there is one more.
func TestReasonsAreTheCores(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../reservation/decision.go", nil, 0)
	require.NoError(t, err)
	want := []string{"NoNodeGroup"}
	ast.Inspect(file, func(n ast.Node) bool {
		v, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(v.Names[0].Name, "Reason") {
			text, err := strconv.Unquote(v.Values[0].(*ast.BasicLit).Value)
			require.NoError(t, err)
			want = append(want, text)
		}
		return true
	})
	var got []string
	for _, e := range condition.Reasons() {
		if e.Type == condition.MemoryReserved {
			got = append(got, e.Reason)
		}
	}
	require.ElementsMatch(t, want, got)
}
