package fleet

import (
	"encoding/json"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
)

// What a client that watches the slices of the whole cluster gets, as dcgm-exporter does on every node: docs/exporter.md has the
// figures. In bytes of JSON, which it asks for, and of its memory once decoded.
func TestCostOfWatchingAllSlices(t *testing.T) {
	model, err := Load("nvidia-h100-80gb")
	require.NoError(t, err)
	// The figures for 5,000 nodes are ten times these.
	const nodes = 500
	var list []*resourcev1.ResourceSlice
	for i := range nodes {
		slices, err := model.Slices(Node(fmt.Sprintf("gpu-%05d", i), nil), Layout{Cards: 8})
		require.NoError(t, err)
		list = append(list, slices...)
	}
	data, err := json.Marshal(Stored(list))
	require.NoError(t, err)
	event, err := json.Marshal(list[0])
	require.NoError(t, err)
	list = nil

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var held resourcev1.ResourceSliceList
	require.NoError(t, json.Unmarshal(data, &held))
	runtime.GC()
	runtime.ReadMemStats(&after)
	size, heap := len(data), int(after.HeapAlloc)-int(before.HeapAlloc)
	t.Logf("%d nodes of 8: %d slices, list %.1f MB, a change %d bytes, decoded %.1f MB", nodes, len(held.Items), float64(size)/1e6, len(event), float64(heap)/1e6)
	require.InDelta(t, 5000, size/nodes, 1500, "docs/exporter.md says about 5 KB a node")
	require.Positive(t, heap)
	require.Less(t, heap, 6*size)
	runtime.KeepAlive(held)
}
