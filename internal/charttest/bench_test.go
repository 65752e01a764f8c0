package charttest

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// fleet is settings of n node groups that run every driver. One in ten has an override, so that it shares nothing.
func fleet(tb testing.TB, n int) map[string]any {
	tb.Helper()
	builtin, err := profile.Builtin()
	require.NoError(tb, err)
	drivers := make([]any, len(builtin))
	for i, d := range builtin {
		drivers[i] = d.Name
	}
	groups := make([]any, n)
	for i := range groups {
		g := map[string]any{"name": fmt.Sprintf("gpu-%d", i), "drivers": drivers,
			"nodeSelector": map[string]any{"group": fmt.Sprint(i)}, "expectedDevices": 8}
		if i%10 == 0 {
			own := map[string]any{}
			for _, d := range builtin {
				mine := map[string]any{"extraEnv": []any{map[string]any{"name": "GROUP", "value": fmt.Sprint(i)}}}
				if d.Plugin.TakesLogLevel() {
					mine["logLevel"] = 1
				}
				own[d.Name] = mine
			}
			g["driverOverrides"] = own
		}
		groups[i] = g
	}
	return map[string]any{"nodeGroups": groups}
}

// cpu is what this process has used of the processors so far, in nanoseconds.
func cpu(tb testing.TB) int64 {
	tb.Helper()
	var u syscall.Rusage
	require.NoError(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return u.Utime.Nano() + u.Stime.Nano()
}

// BenchmarkRender shows how a render grows with the node groups: ns/group should stay as it is.
func BenchmarkRender(b *testing.B) {
	chart, err := Load()
	require.NoError(b, err)
	for _, n := range []int{10, 50, 200} {
		in := fleet(b, n)
		b.Run(fmt.Sprintf("groups=%d", n), func(b *testing.B) {
			size, before := 0, cpu(b)
			for b.Loop() {
				documents, _, err := Render(chart, Options{Values: in})
				require.NoError(b, err)
				size = 0
				for _, d := range documents {
					size += len(d)
				}
			}
			// A busy machine makes the time longer, and the work not much.
			b.ReportMetric(float64(cpu(b)-before)/float64(b.N)/1e6, "cpu-ms/op")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/group")
			b.ReportMetric(float64(size), "bytes")
		})
	}
}

// Twice the groups are twice the work: what is looked up once a render must not be looked up once a group. Allocations do not
// depend on the machine, as time does.
func TestRenderGrowsWithTheGroups(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	allocations := func(n int) float64 {
		in := fleet(t, n)
		return testing.AllocsPerRun(1, func() {
			_, _, err := Render(chart, Options{Values: in})
			require.NoError(t, err)
		})
	}
	small, large := allocations(20), allocations(40)
	t.Logf("allocations: %.0f with 20 groups, %.0f with 40", small, large)
	require.Less(t, large/small, 2.1)
}
