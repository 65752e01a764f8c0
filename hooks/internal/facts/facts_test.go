package facts_test

import (
	"testing"

	"github.com/deckhouse/module-sdk/testing/helpers"
	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
	"github.com/gpu-dra/gpu-dra/hooks/internal/hooktest"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

const root = "../../.."

// The controller parses what the user wrote, the hook what addon-operator made of it: defaults filled in, facts beside it. The
// hash must be one.
func TestHashIsTheControllers(t *testing.T) {
	user := "nodeGroups: [{name: gpu, drivers: [nvidia]}]\nexporter: {interval: 60s}\n"
	parsed, err := settings.Parse([]byte(user))
	require.NoError(t, err)
	s, err := facts.FromValues(helpers.NewValuesFromJSON(hooktest.Values(t, root, user+"registry: {base: registry.example.com}\n")))
	require.NoError(t, err)
	require.Equal(t, settings.Hash(parsed), s.Hash)
	require.Equal(t, "gpu", s.NodeGroups[0].Name)
}

func TestDistribution(t *testing.T) {
	for written, want := range map[string]string{"{}": "Deckhouse", "distribution: Vanilla": "Vanilla", "distribution: Rosa": "Rosa"} {
		s, err := facts.FromValues(helpers.NewValuesFromJSON(hooktest.Values(t, root, written)))
		require.NoError(t, err)
		require.Equal(t, want, s.Distribution.Name)
	}
}

func TestFaultyProfileIsLeftOut(t *testing.T) {
	s, err := facts.FromValues(helpers.NewValuesFromJSON(hooktest.Values(t, root, "customDrivers: [{name: nvidia, driverName: gpu.example.com}]")))
	require.NoError(t, err)
	_, ok := s.Profiles.ByName("nvidia")
	require.True(t, ok)
}

func TestWrongSettings(t *testing.T) {
	_, err := facts.FromValues(helpers.NewValuesFromJSON(`{"gpuDra":{"nodeGroups":[{"name":5,"drivers":["nvidia"]}]}}`))
	require.ErrorContains(t, err, "nodeGroups[0].name: found 5, expected")
}

func TestKnown(t *testing.T) {
	v := helpers.NewValuesFromJSON(`{"gpuDra":{"a":{"b":1},"c":"x"}}`)
	require.Equal(t, map[string]int{"b": 1}, facts.Known[map[string]int](v, "gpuDra.a"))
	require.Empty(t, facts.Known[map[string]int](v, "gpuDra.c"), "of another shape")
	require.Empty(t, facts.Known[map[string]int](v, "gpuDra.d"))
}

func TestSetWritesOnlyDifferences(t *testing.T) {
	v := helpers.NewValuesFromJSON(`{"gpuDra":{"internal":{"a":[{"n":1,"m":"x"}]}}}`)
	require.NoError(t, facts.Set(v, "gpuDra.internal.a", []any{map[string]any{"m": "x", "n": int32(1)}}))
	require.Empty(t, v.GetPatches())
	require.NoError(t, facts.Set(v, "gpuDra.internal.a", []any{}))
	require.NoError(t, facts.Set(v, "gpuDra.internal.b", []any{}))
	require.Len(t, v.GetPatches(), 2)
	require.Error(t, facts.Set(v, "gpuDra.internal.c", func() {}))
}
