package nodes

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

func (w *world) allocated(name string) string {
	w.t.Helper()
	g := &v1alpha1.GPUNode{}
	require.NoError(w.t, w.client.Get(w.t.Context(), types.NamespacedName{Name: name}, g))
	return g.Status.Summary.Allocated
}

// A burst of pods changes the column many times: it is written at once, and then every few seconds at most.
func TestAllocatedIsWrittenAtIntervals(t *testing.T) {
	w := newWorld(t, node("n1", "1", inGroup))
	w.slices["n1"] = published(8)
	w.step("n1")
	require.Empty(t, w.allocated("n1"), "not known yet")

	hold := func(n int32) { w.held = map[string]map[string]int32{"n1": {driver: n}} }
	hold(0)
	w.clock.SetTime(start.Add(time.Minute))
	writes, _ := w.step("n1")
	require.Equal(t, []string{"status"}, writes)
	require.Equal(t, "0/8", w.allocated("n1"))

	written := 0
	for i := range 100 {
		hold(int32(i))
		w.clock.SetTime(start.Add(time.Minute).Add(time.Duration(i) * 200 * time.Millisecond))
		writes, after := w.step("n1")
		written += len(writes)
		if len(writes) == 0 && i > 0 {
			require.Positive(t, after, "what is held back is not forgotten")
			require.LessOrEqual(t, after, paceInterval)
		}
	}
	require.Equal(t, int(100*200*time.Millisecond/paceInterval)-1, written, "20 s of it")
	w.clock.SetTime(start.Add(2 * time.Minute))
	w.step("n1")
	require.Equal(t, "99/8", w.allocated("n1"))

	// Facts are not held back, and take the column with them.
	hold(1)
	w.slices["n1"] = published(7)
	w.clock.SetTime(start.Add(2*time.Minute + time.Second))
	writes, _ = w.step("n1")
	require.Equal(t, []string{"status"}, writes)
	require.Equal(t, "1/7", w.allocated("n1"))
	hold(3)
	w.clock.SetTime(start.Add(2*time.Minute + 2*time.Second))
	writes, after := w.step("n1")
	require.Empty(t, writes)
	require.Equal(t, 4*time.Second, after)
	w.clock.SetTime(start.Add(2*time.Minute + 6*time.Second))
	w.step("n1")
	require.Equal(t, "3/7", w.allocated("n1"))

	// While the claims can't be read, what was known stands; the next controller writes what it finds.
	w.held = nil
	w.clock.SetTime(start.Add(3 * time.Minute))
	writes, _ = w.step("n1")
	require.Empty(t, writes)
	w.restart()
	hold(2)
	w.step("n1")
	require.Equal(t, "2/7", w.allocated("n1"))
	require.Equal(t, "True "+condition.NodeRegistered+" label=true", w.registered("n1"))
}
