package inventory

import (
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-dra/gpu-dra/internal/fleet"
)

// benchSize is a fleet of like nodes.
type benchSize struct {
	nodes  int
	layout fleet.Layout
}

var benchSizes = []benchSize{
	{500, fleet.Layout{Cards: 8}},
	{5000, fleet.Layout{Cards: 8}},
	{5000, fleet.Layout{Cards: 8, CutCards: 8, Cut: "smallest"}},
}

func (s benchSize) String() string {
	if s.layout.CutCards > 0 {
		return fmt.Sprintf("%dx%dx7", s.nodes, s.layout.Cards)
	}
	return fmt.Sprintf("%dx%d", s.nodes, s.layout.Cards)
}

// lists remembers what list made, by size.
var lists = map[string][]byte{}

// list is the answer of an API server to a list of all slices, as JSON.
func (s benchSize) list(tb testing.TB) []byte {
	tb.Helper()
	if data, ok := lists[s.String()]; ok {
		return data
	}
	model, err := fleet.Load("nvidia-h100-80gb")
	require.NoError(tb, err)
	var all []*resourcev1.ResourceSlice
	for i := range s.nodes {
		slices, err := model.Slices(fleet.Node(fmt.Sprintf("gpu-node-%05d", i), nil), s.layout)
		require.NoError(tb, err)
		all = append(all, slices...)
	}
	data, err := json.Marshal(fleet.Stored(all))
	require.NoError(tb, err)
	lists[s.String()] = data
	return data
}

func unmarshal(tb testing.TB, data []byte) *resourcev1.ResourceSliceList {
	list := &resourcev1.ResourceSliceList{}
	if err := json.Unmarshal(data, list); err != nil {
		tb.Fatal(err)
	}
	return list
}

// cost is what one round of a benchmark takes: the shortest by the clock, and the mean by processor time, garbage
// collection included. On a machine that does other work too, means by the clock would compare the other work.
type cost struct{ clock, processor time.Duration }

// unmarshalCost remembers what BenchmarkUnmarshal measured, by size.
var unmarshalCost = map[string]cost{}

func measure(b *testing.B, round func()) cost {
	runtime.GC()
	c := cost{clock: math.MaxInt64}
	before := processorTime(b)
	b.ResetTimer()
	for range b.N {
		start := time.Now()
		round()
		c.clock = min(c.clock, time.Since(start))
	}
	b.StopTimer()
	c.processor = (processorTime(b) - before) / time.Duration(b.N)
	return c
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// BenchmarkUnmarshal is the yardstick: one json.Unmarshal of the list into the typed objects.
func BenchmarkUnmarshal(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(size.String(), func(b *testing.B) {
			data := size.list(b)
			b.SetBytes(int64(len(data)))
			unmarshalCost[size.String()] = measure(b, func() { unmarshal(b, data) })
		})
	}
}

// BenchmarkInventory digests all slices of the same list and builds the cluster. Its ratios are its cost by that of the
// yardstick, its kept-B/slice is what one digest takes in a cache.
func BenchmarkInventory(b *testing.B) {
	profiles := testProfiles(b)
	for _, size := range benchSizes {
		b.Run(size.String(), func(b *testing.B) {
			data := size.list(b)
			kept := keptBytes(b, data, NewDigester(profiles))
			yardstick, ok := unmarshalCost[size.String()]
			if !ok {
				b.Fatal("run BenchmarkUnmarshal with it")
			}
			list := unmarshal(b, data)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			c := measure(b, func() {
				// A Digester of its own, so that nothing is left over from the round before.
				d := NewDigester(profiles)
				digests := make([]*Slice, len(list.Items))
				for i := range list.Items {
					digests[i] = d.Digest(&list.Items[i])
				}
				cluster := Build(digests)
				if len(cluster.Nodes) != size.nodes || !cluster.Nodes[0].Drivers[0].Registered {
					b.Fatalf("%d nodes", len(cluster.Nodes))
				}
			})
			b.ReportMetric(float64(c.clock)/float64(yardstick.clock), "ratio")
			b.ReportMetric(float64(c.processor)/float64(yardstick.processor), "cpu-ratio")
			b.ReportMetric(float64(kept)/float64(len(list.Items)), "kept-B/slice")
		})
	}
}

// keptBytes is what all digests hold once their slices are gone.
func keptBytes(b *testing.B, data []byte, d *Digester) uint64 {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	list := unmarshal(b, data)
	digests := make([]*Slice, len(list.Items))
	for i := range list.Items {
		digests[i] = d.Digest(&list.Items[i])
	}
	// Twice, since interned strings go a round later.
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(digests)
	return after.HeapAlloc - min(after.HeapAlloc, before.HeapAlloc)
}

// BenchmarkOneNode is what a change of one slice costs among all others: which nodes it touches, and those again.
func BenchmarkOneNode(b *testing.B) {
	for _, size := range benchSizes {
		b.Run(size.String(), func(b *testing.B) {
			ix := newIndexer()
			d := NewDigester(testProfiles(b))
			list := unmarshal(b, size.list(b))
			for i := range list.Items {
				require.NoError(b, ix.Add(d.Digest(&list.Items[i])))
			}
			changed := d.Digest(&list.Items[len(list.Items)/2])
			b.ResetTimer()
			for range b.N {
				touched, err := Touched(ix, changed, changed)
				if err != nil || len(touched) != 1 {
					b.Fatal(touched, err)
				}
				if node, err := NodeFrom(ix, touched[0]); err != nil || len(node.Drivers) != 1 {
					b.Fatal(node, err)
				}
			}
		})
	}
}
