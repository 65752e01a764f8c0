package reservation

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

func TestComputeOfALikeGroup(t *testing.T) {
	p := platform(t, tieredSpec)
	r := Compute(p, defaults(t), []Node{node(p, "b", 2048*gibi, 8), node(p, "a", 2048*gibi, 8)})
	require.Equal(t, "a", r.Largest.Node)
	require.Equal(t, "a", r.Smallest.Node)
	require.True(t, r.Upward)
	require.Equal(t, &Figure{"a", 23836019917}, r.Applied)
	require.Equal(t, &Figure{"a", 2048 * gibi}, r.LeastMemory)

	s := r.Status(ModeAdvise)
	require.Equal(t, "25068Mi", s.Recommended.String())
	require.Equal(t, "23836019917", s.Applied.String())
	require.EqualValues(t, 23836019917+21990232556-43980465111, s.HeadroomBeforeSoftEviction.Value())
	require.Contains(t, r.Why(), "node a: systemNeed decides")
	require.Equal(t, &Figure{"a", 25068*mebi - 23836019917}, r.Short, "what the platform reserves by itself is less than it needs")
	require.Nil(t, r.Status(ModeOff))

	require.Equal(t, ModeAdvise, s.Mode)
	require.Equal(t, r.Why(), s.Why)
	require.Equal(t, "a SystemNeed 8", fmt.Sprint(s.DecidedBy, " ", s.Term, " ", s.Cards))
	var breakdown []string
	for _, term := range s.Breakdown {
		breakdown = append(breakdown, term.Name+" "+term.Value.String())
	}
	require.Equal(t, []string{"Platform 23836019917", "Devices 832Mi", "SystemNeed 4Gi", "EvictionSoft 43980465111", "EvictionHard 21990232556"}, breakdown)
	require.Empty(t, r.Unmeasured)
	require.Equal(t, "25068Mi 25068Mi", s.Spread.Smallest.String()+" "+s.Spread.Largest.String())
}

func TestComputeOfAnUnlikeGroup(t *testing.T) {
	p := platform(t, tieredSpec)
	raised := node(p, "raised", 512*gibi, 8)
	raised.Memory = memory(p, 512*gibi, 30*gibi)
	r := Compute(p, defaults(t), []Node{
		node(p, "small", 64*gibi, 4), raised, node(p, "large", 2048*gibi, 8), node(p, "cardless", 4096*gibi, 0), node(p, "tiny", 32*gibi, 0),
		{Name: "silent", Cards: 8}, {Name: "mute", Memory: &v1alpha1.NodeMemory{}, Cards: 8},
	})
	require.Equal(t, "large", r.Largest.Node, "the largest need is the group's")
	require.Equal(t, "small", r.Smallest.Node)
	require.Equal(t, 1815*mebi, r.Smallest.Recommended)
	require.Equal(t, &Figure{"tiny", p.OfItself(32 * gibi)}, r.Applied)
	require.Equal(t, &Figure{"cardless", p.OfItself(4096 * gibi)}, r.MostApplied, "what a node without cards has counts too")
	require.Equal(t, &Figure{"tiny", 32 * gibi}, r.LeastMemory)
	require.Equal(t, "tiny", r.Headroom.Node)
	require.Equal(t, &Figure{"cardless", 4096 * gibi}, r.MostMemory)
	require.Equal(t, "large", r.Short.Node)
	require.Equal(t, "mute", r.MemoryUnknown)
	require.Equal(t, "mute", r.Unmeasured)
	s := r.Status(ModeApply)
	require.Equal(t, "1815Mi 25068Mi", s.Spread.Smallest.String()+" "+s.Spread.Largest.String())
	require.Equal(t, ModeApply, s.Mode)
	require.Equal(t, 7, r.Nodes)
	require.Contains(t, r.Why(), "node large needs most, node small least (1815Mi): systemNeed decides")
}

func TestComputeWithoutFacts(t *testing.T) {
	p, s := platform(t, tieredSpec), defaults(t)
	for says, nodes := range map[string][]Node{
		"the group has no node yet":                         nil,
		"the memory of node a is not known yet":             {{Name: "b", Cards: 8}, {Name: "a", Cards: 8}},
		"no card was seen on any node of the group yet":     {node(p, "a", gibi, 0)},
		"node b: systemNeed decides: 4096Mi of systemNeed ": {node(p, "a", 64*gibi, 0), node(p, "b", 128*gibi, 8)},
	} {
		r := Compute(p, s, nodes)
		require.Contains(t, r.Why(), says)
	}
	empty := Compute(p, s, nil).Status(ModeAdvise)
	require.Equal(t, &v1alpha1.MemoryReservation{Mode: ModeAdvise, Why: "the group has no node yet"}, empty, "nothing is guessed")
	plain := platform(t, plainSpec)
	require.Nil(t, Compute(plain, s, []Node{node(plain, "a", 64*gibi, 4)}).Status(ModeAdvise).Recommended, "zero is no recommendation")
}

func TestNodesOf(t *testing.T) {
	m := &v1alpha1.NodeMemory{Capacity: resource.MustParse("64Gi")}
	gpuNode := func(name string, s v1alpha1.GPUNodeStatus) v1alpha1.GPUNode {
		n := v1alpha1.GPUNode{Status: s}
		n.Name = name
		return n
	}
	require.Equal(t, []Node{{"a", m, 12}, {"passive", m, 0}}, NodesOf([]v1alpha1.GPUNode{
		gpuNode("a", v1alpha1.GPUNodeStatus{Memory: m, Drivers: []v1alpha1.NodeDriver{
			{Name: "x", Accelerator: true, HighWater: 8}, {Name: "channels", HighWater: 1}, {Name: "y", Accelerator: true, HighWater: 4}}}),
		gpuNode("leaving", v1alpha1.GPUNodeStatus{Memory: m, Terminating: true}),
		gpuNode("passive", v1alpha1.GPUNodeStatus{Memory: m, Passive: true}),
	}))
}

func anyNodes(t *rapid.T) []Node {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Node {
		n := Node{Name: rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"), Cards: rapid.OneOf(rapid.Int64Range(0, 16), extremes()).Draw(t, "cards")}
		if rapid.IntRange(0, 9).Draw(t, "known") > 0 {
			capacity := rapid.OneOf(rapid.Int64Range(16*gibi, 4096*gibi), rapid.SampledFrom([]int64{64 * gibi, 128 * gibi, 128*gibi + mebi, 2048 * gibi}), extremes()).Draw(t, "capacity")
			n.Memory = &v1alpha1.NodeMemory{Capacity: *Quantity(capacity), Allocatable: *Quantity(capacity - capacity/rapid.Int64Range(5, 99).Draw(t, "part"))}
		}
		return n
	}), 0, 5).Draw(t, "nodes")
}

func TestComputeDoesNotDependOnTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := anyPlatform(t), anySettings(t)
		seen := map[string]bool{}
		var nodes []Node
		for _, n := range anyNodes(t) {
			if !seen[n.Name] {
				nodes = append(nodes, n)
			}
			seen[n.Name] = true
		}
		r := Compute(p, s, nodes)
		require.Equal(t, r, Compute(p, s, rapid.Permutation(nodes).Draw(t, "shuffled")))
		require.NotEmpty(t, r.Why())
		for _, n := range nodes {
			capacity, ok := capacityOf(n.Memory)
			if !ok || n.Cards <= 0 {
				continue
			}
			need := Recommend(p, s, capacity, n.Cards).Recommended
			require.LessOrEqual(t, need, r.Largest.Recommended)
			require.GreaterOrEqual(t, need, r.Smallest.Recommended)
		}
	})
}

// A difference that is not worth a restart is none.
func TestShort(t *testing.T) {
	p, s := platform(t, tieredSpec), defaults(t)
	for less, want := range map[int64]*Figure{
		0: nil, rewriteAbove: nil, rewriteAbove + 1: {"a", rewriteAbove + 1}, -gibi: nil,
	} {
		n := Node{Name: "a", Cards: 8, Memory: memory(p, 2048*gibi, 25068*mebi-less)}
		require.Equal(t, want, Compute(p, s, []Node{n}).Short, "%d", less)
	}
	require.Nil(t, Compute(p, s, []Node{{Name: "a", Cards: 8}}).Short, "not measured")
	require.Nil(t, Compute(p, s, []Node{{Name: "a", Memory: memory(p, 2048*gibi, 0)}}).Short, "no card, no need")
}
