package reservation

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func TestShares(t *testing.T) {
	p := platform(t, tieredSpec)
	const capacity = 2048 * gibi
	sum := 25068*mebi + 21990232556
	for name, tc := range map[string]struct {
		reserved int64
		memory   []int64
		want     []Share
	}{
		"no topology":      {25068 * mebi, nil, []Share{{0, sum}}},
		"two alike":        {25068 * mebi, []int64{capacity / 2, capacity / 2}, []Share{{0, sum / 2}, {1, sum / 2}}},
		"three to one":     {25068 * mebi, []int64{capacity / 4, 0, capacity / 4 * 3}, []Share{{0, sum / 4}, {2, sum / 4 * 3}}},
		"an odd byte":      {25068*mebi + 1, []int64{capacity / 2, capacity / 2}, []Share{{0, sum/2 + 1}, {1, sum / 2}}},
		"does not fit":     {25068 * mebi, []int64{gibi, gibi}, nil},
		"more than it has": {capacity, nil, nil},
	} {
		got, ok := p.Shares(capacity, tc.reserved, tc.memory)
		require.Equal(t, tc.want, got, name)
		require.Equal(t, tc.want != nil, ok, name)
	}
	_, ok := Platform{}.Shares(capacity, 0, nil)
	require.False(t, ok, "the kubelet refuses a share of nothing")
}

func TestSharesAddUpToTheByte(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := platform(t, rapid.SampledFrom([]profile.KubeletMemory{{}, tieredSpec, plainSpec}).Draw(t, "platform"))
		small := rapid.OneOf(rapid.Int64Range(0, 9), rapid.Int64Range(0, 4096*gibi), extremes())
		memory := rapid.SliceOfN(small, 0, 8).Draw(t, "memory")
		capacity, reserved := small.Draw(t, "capacity"), small.Draw(t, "reserved")
		shares, ok := p.Shares(capacity, reserved, memory)
		if !ok {
			require.Empty(t, shares)
			return
		}
		sum := int64(0)
		for _, s := range shares {
			require.Positive(t, s.Bytes)
			if len(memory) > 0 {
				require.LessOrEqual(t, s.Bytes, memory[s.NUMANode])
			}
			sum += s.Bytes
		}
		require.Equal(t, clamp(reserved)+p.EvictionHard(capacity), sum)
	})
}
