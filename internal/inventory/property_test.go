package inventory

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/tools/cache"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

func TestOrderDoesNotMatter(t *testing.T) {
	d := NewDigester(testProfiles(t))
	rapid.Check(t, func(t *rapid.T) {
		all := digestAll(d, drawSlices(t, true))
		require.Equal(t, Build(all), Build(rapid.Permutation(all).Draw(t, "shuffled")))
	})
}

func TestDeviceOrderDoesNotMatter(t *testing.T) {
	d := NewDigester(testProfiles(t))
	rapid.Check(t, func(t *rapid.T) {
		s := drawSlice(t, "s", true)
		before := d.Digest(s)
		s.ResourceVersion = "later"
		s.Spec.Devices = rapid.Permutation(s.Spec.Devices).Draw(t, "shuffled")
		for i := range s.Spec.Devices {
			dev := &s.Spec.Devices[i]
			dev.ConsumesCounters = rapid.Permutation(dev.ConsumesCounters).Draw(t, "shuffled counters")
		}
		s.Spec.SharedCounters = rapid.Permutation(s.Spec.SharedCounters).Draw(t, "shuffled sets")
		after := d.Digest(s)
		require.True(t, before.Equal(after))
		require.Equal(t, Build([]*Slice{before}), Build([]*Slice{after}))
	})
}

// Digests that are equal mean the same; those that mean something else are not equal.
func TestEqualDigestsMeanTheSame(t *testing.T) {
	d := NewDigester(testProfiles(t))
	rapid.Check(t, func(t *rapid.T) {
		a, b := d.Digest(drawSlice(t, "s", true)), d.Digest(drawSlice(t, "s", true))
		if a.Equal(b) {
			require.Equal(t, Build([]*Slice{a}), Build([]*Slice{b}))
		}
		require.True(t, a.Equal(a.DeepCopyObject().(*Slice)))
		require.False(t, a.Equal(nil))
		require.True(t, (*Slice)(nil).Equal(nil))
	})
}

// Without counters every card shows by a device of its own.
func TestCountsAreOrdered(t *testing.T) {
	d := NewDigester(testProfiles(t))
	rapid.Check(t, func(t *rapid.T) {
		c := Build(digestAll(d, drawSlices(t, false)))
		check := func(n v1alpha1.DeviceCounts) {
			require.LessOrEqual(t, n.Physical, n.Published)
			require.LessOrEqual(t, n.AllocatableWhole, n.Physical)
			require.LessOrEqual(t, n.Tainted, n.Published)
			require.False(t, n.Published > 0 && n.Physical == 0)
		}
		for _, n := range c.Nodes {
			for _, driver := range n.Drivers {
				check(driver.Counts)
				require.LessOrEqual(t, driver.PublishedTwice, driver.Counts.Physical)
				for _, p := range driver.Pools {
					check(p.Devices)
				}
			}
		}
		for _, p := range c.SharedPools {
			check(p.Devices)
		}
	})
}

// A node's groups hold the devices that its drivers publish.
func TestGroupsAddUp(t *testing.T) {
	d := NewDigester(testProfiles(t))
	rapid.Check(t, func(t *rapid.T) {
		for _, n := range Build(digestAll(d, drawSlices(t, true))).Nodes {
			published, tainted := map[string]int32{}, map[string]int32{}
			for _, g := range n.Devices {
				published[g.Driver] += g.Count
				tainted[g.Driver] += g.Tainted
			}
			for _, driver := range n.Drivers {
				require.Equal(t, driver.Counts.Published, published[driver.Name])
				require.Equal(t, driver.Counts.Tainted, tainted[driver.Name])
			}
		}
	})
}

func TestNodeByNodeEqualsBuild(t *testing.T) {
	d := NewDigester(testProfiles(t))
	rapid.Check(t, func(t *rapid.T) {
		all := digestAll(d, drawSlices(t, true))
		c := Build(all)
		for _, name := range []string{"n0", "n1", "n2"} {
			want, _ := c.Node(name)
			require.Equal(t, want, ForNode(name, all))
		}
		require.Equal(t, c.ClusterWide, ForCluster(all))
	})
}

func newIndexer() cache.Indexer {
	return cache.NewIndexer(cache.MetaNamespaceKeyFunc, cache.Indexers{
		IndexNode: NodeIndex, IndexPool: PoolIndex, IndexUnknownDriver: UnknownDriverIndex, IndexInlineCounters: InlineCountersIndex,
	})
}

// What is recomputed only where Touched says so equals what is computed from everything.
func TestIncrementalEqualsBuild(t *testing.T) {
	d := NewDigester(testProfiles(t))
	rapid.Check(t, func(t *rapid.T) {
		ix := newIndexer()
		nodes := map[string]Node{}
		var wide ClusterWide
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			name := oneOf(t, "slice", "s0", "s1", "s2", "s3")
			var old, changed *Slice
			if obj, exists, err := ix.GetByKey(name); err == nil && exists {
				old = obj.(*Slice)
			}
			if rapid.IntRange(0, 3).Draw(t, "delete") == 0 {
				if old == nil {
					continue
				}
				require.NoError(t, ix.Delete(old))
			} else {
				changed = d.Digest(drawSlice(t, name, true))
				require.NoError(t, ix.Update(changed))
			}
			touched, err := Touched(ix, old, changed)
			require.NoError(t, err)
			for _, n := range touched {
				if n == NoNode {
					wide, err = ClusterWideFrom(ix)
					require.NoError(t, err)
					continue
				}
				node, err := NodeFrom(ix, n)
				require.NoError(t, err)
				nodes[n] = node
				if len(node.Drivers) == 0 {
					delete(nodes, n)
				}
			}

			var all []*Slice
			for _, obj := range ix.List() {
				all = append(all, obj.(*Slice))
			}
			c := Build(all)
			require.Len(t, nodes, len(c.Nodes))
			for _, n := range c.Nodes {
				require.Equal(t, n, nodes[n.Name])
			}
			require.Equal(t, c.SharedPools, wide.SharedPools)
			now, err := ClusterWideFrom(ix)
			require.NoError(t, err)
			require.Equal(t, c.ClusterWide, now)
		}
	})
}
