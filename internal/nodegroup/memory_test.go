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
	const groupLabel = "node.deckhouse.io/group"
	selector := func(key, value string) func(*nodegroup.Input) {
		return func(in *nodegroup.Input) { in.Group.NodeSelector = map[string]string{key: value} }
	}
	noHooks := func(in *nodegroup.Input) { in.Hooks = false }
	few := func(in *nodegroup.Input) {
		in.Nodes = []v1alpha1.GPUNode{node("a", 4, true, host(1<<30))}
		in.Platform.NodeGroup.Reservation = map[string]any{"mode": "Static", "static": map[string]any{"memory": "1Gi"}}
	}
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
		"a part of the NodeGroup":        {[]func(*nodegroup.Input){mode("Apply"), selector("gpu", "true")}, "False", condition.GroupMemoryPart, reservation.LeaveAlone},
		"nodes of another NodeGroup":     {[]func(*nodegroup.Input){mode("Apply"), selector(groupLabel, "other")}, "False", condition.GroupMemoryPart, reservation.LeaveAlone},
		"all of the NodeGroup, said":     {[]func(*nodegroup.Input){mode("Apply"), selector(groupLabel, "gpu")}, "False", condition.GroupMemoryApplying, reservation.Write},
		"a part, after it was written":   {[]func(*nodegroup.Input){mode("Apply"), written, selector("gpu", "true")}, "False", condition.GroupMemoryPart, reservation.LeaveAlone},
		"a part, given back":             {[]func(*nodegroup.Input){mode("Apply"), written, selector("gpu", "true"), mode("Advise")}, "False", condition.GroupMemoryRestoring, reservation.Restore},
		"no hooks":                       {[]func(*nodegroup.Input){mode("Apply"), noHooks}, "False", condition.GroupMemoryAdvise, reservation.LeaveAlone},
		"no hooks, but what they wrote":  {[]func(*nodegroup.Input){mode("Apply"), written, noHooks}, "False", condition.GroupMemoryNoHooks, reservation.LeaveAlone},
		"no hooks, off":                  {[]func(*nodegroup.Input){mode("Off"), noHooks}, "Unknown", condition.GroupMemoryOff, reservation.LeaveAlone},
		"no hooks, off, what they wrote": {[]func(*nodegroup.Input){mode("Apply"), written, mode("Off"), noHooks}, "Unknown", condition.GroupMemoryNoHooks, reservation.LeaveAlone},
		"a fixed reservation below Auto": {[]func(*nodegroup.Input){mode("Apply"), few}, "False", condition.GroupMemoryBelow, reservation.LeaveAlone},
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

// "Every kubelet reserves what its node needs" takes a measurement of each that has cards; one that falls short is enough to deny it.
func TestMemoryOfANodeThatIsNotMeasured(t *testing.T) {
	silent := func(n *v1alpha1.GPUNode) {
		host(needed)(n)
		n.Status.Memory.Allocatable = resource.Quantity{}
	}
	reserved := func(nodes ...v1alpha1.GPUNode) metav1.Condition {
		return find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, withMemory(t, "Advise", nodes...), now), condition.MemoryReserved)
	}
	c := reserved(node("a", 8, true, host(needed)), node("b", 8, true, silent))
	require.EqualValues(t, "Unknown", c.Status)
	require.Contains(t, c.Message, "what the kubelet of node b reserves is not known")
	require.EqualValues(t, "Unknown", reserved(node("a", 8, true, host(needed)), node("b", 8, true)).Status, "nor its memory")
	require.EqualValues(t, "True", reserved(node("a", 8, true, host(needed)), node("b", 0, false, silent)).Status, "a node without cards has no need")
	require.EqualValues(t, "False", reserved(node("a", 8, true, host(auto)), node("b", 8, true, silent)).Status)
}

// Where no hooks run, nobody writes what Apply would: nothing may be announced.
func TestApplyWithoutHooksIsAdvice(t *testing.T) {
	in := withMemory(t, "Apply", node("a", 8, true, host(auto)))
	in.Hooks = false
	status := nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, in, now)
	require.Equal(t, "Advise", status.MemoryReservation.Mode)
	c := find(t, status, condition.MemoryReserved)
	require.Contains(t, c.Message, "not installed as a Deckhouse module")
	require.NotContains(t, c.Message, "becomes")

	advice := withMemory(t, "Advise", node("a", 8, true, host(auto)))
	want := nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, advice, now)
	advice.Hooks = false
	require.Equal(t, want, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, advice, now), "who is not asked to write advises alike")

	in.Platform.NodeGroup.Annotation = "{}"
	c = find(t, nodegroup.Compute(status, in, now), condition.MemoryReserved)
	require.Contains(t, c.Message, "only its hooks give back what it holds")
}

// Every reason of the core has its row in docs/conditions.md, and there are two more.
func TestReasonsAreTheCores(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "../reservation/decision.go", nil, 0)
	require.NoError(t, err)
	want := []string{"NoNodeGroup", "NoHooks"}
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
