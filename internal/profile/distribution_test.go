package profile_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
)

// The conversion compiles only while the two types have the same fields, and it must not lose the keys of the files.
func TestKubeletMemoryOfEveryDistribution(t *testing.T) {
	const gibi = int64(1) << 30
	from, to := reflect.TypeFor[profile.KubeletMemory](), reflect.TypeFor[reservation.Spec]()
	for i := range to.NumField() {
		require.Equal(t, to.Field(i).Tag, from.Field(i).Tag)
	}
	distributions, err := profile.Distributions()
	require.NoError(t, err)
	require.NotEmpty(t, distributions)
	for name, d := range distributions {
		p, err := reservation.NewPlatform(reservation.Spec(d.KubeletMemory))
		require.NoError(t, err, name)
		require.Positive(t, p.EvictionHard(64*gibi), "%s: every kubelet has a hard eviction", name)
	}
	own := func(name string) int64 {
		p, err := reservation.NewPlatform(reservation.Spec(distributions[name].KubeletMemory))
		require.NoError(t, err)
		return p.OfItself(2048 * gibi)
	}
	require.Equal(t, int64(23836019917), own("Deckhouse"))
	require.Zero(t, own("Vanilla"))
	require.Zero(t, own("Rosa"))
}
