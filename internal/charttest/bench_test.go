package charttest

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// BenchmarkRender shows how a render grows with the node groups.
func BenchmarkRender(b *testing.B) {
	chart, err := Load()
	require.NoError(b, err)
	for _, n := range []int{10, 50, 200} {
		groups := make([]any, n)
		for i := range groups {
			groups[i] = map[string]any{"name": fmt.Sprintf("gpu-%d", i), "drivers": []any{"nvidia", "example"},
				"nodeSelector": map[string]any{"group": fmt.Sprint(i)}, "expectedDevices": 8}
		}
		b.Run(fmt.Sprintf("groups=%d", n), func(b *testing.B) {
			for b.Loop() {
				_, _, err := Render(chart, Options{Values: map[string]any{"nodeGroups": groups}})
				require.NoError(b, err)
			}
		})
	}
}
