package profile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
)

func TestKubeletMemoryOfEveryDistribution(t *testing.T) {
	const gibi = int64(1) << 30
	distributions, err := profile.Distributions()
	require.NoError(t, err)
	require.NotEmpty(t, distributions)
	for name, d := range distributions {
		p, err := reservation.NewPlatform(d.KubeletMemory)
		require.NoError(t, err, name)
		require.Positive(t, p.EvictionHard(64*gibi), "%s: every kubelet has a hard eviction", name)
	}
	own := func(name string) int64 {
		p, err := reservation.NewPlatform(distributions[name].KubeletMemory)
		require.NoError(t, err)
		return p.OfItself(2048 * gibi)
	}
	require.Equal(t, int64(23836019917), own("Deckhouse"))
	require.Zero(t, own("Vanilla"))
	require.Zero(t, own("Rosa"))
}
