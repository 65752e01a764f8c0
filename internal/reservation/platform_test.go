package reservation

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func TestEvictionThresholdsToTheByte(t *testing.T) {
	p := platform(t, tieredSpec)
	for _, tc := range []struct{ mib, hard, soft int64 }{
		{0, 0, 0},
		{1, 10486, 20972},
		{8192, 85899346, 171798692},
		{24105, 252759245, 505518490},
		{65536, 687194767, 1374389535},
		{131072, 1374389535, 2748779069},
		{131073, 1374400020, 2748800041},
		{2063731, 21639787971, 43279575941},
		{2097152, 21990232556, 43980465111},
	} {
		require.Equal(t, tc.hard, p.EvictionHard(tc.mib*mebi), "%d MiB", tc.mib)
		require.Equal(t, tc.soft, p.EvictionSoft(tc.mib*mebi), "%d MiB", tc.mib)
	}
}

// Node status shows KiB, `free -m` whole MiB: what is beyond the last whole MiB changes nothing.
func TestOnlyWholeMiBCount(t *testing.T) {
	p := platform(t, tieredSpec)
	const memTotal = 24683548 * 1024
	require.EqualValues(t, 24105, wholeMiB(memTotal))
	require.Equal(t, p.OfItself(24105*mebi), p.OfItself(memTotal))
	require.Equal(t, p.EvictionHard(24105*mebi), p.EvictionHard(24106*mebi-1))
	require.EqualValues(t, 1033287762, p.OfItself(memTotal))
}

func TestKubernetesDefaults(t *testing.T) {
	p := platform(t, plainSpec)
	for _, capacity := range []int64{gibi, 2048 * gibi} {
		require.Zero(t, p.OfItself(capacity))
		require.Equal(t, 100*mebi, p.EvictionHard(capacity))
		require.Equal(t, 100*mebi, p.EvictionSoft(capacity), "without soft eviction, hard eviction is what daemons meet first")
		require.Equal(t, 5*gibi, p.Headroom(capacity, 5*gibi))
	}
	require.Zero(t, Platform{}.EvictionSoft(gibi))
	soft := platform(t, profile.KubeletMemory{EvictionHard: "500Mi", EvictionSoft: "1%"})
	require.Equal(t, 500*mebi, soft.EvictionSoft(gibi), "a soft threshold below the hard one is never met")
}

// What the issue is about: the platform's own reservation leaves daemons the same 1,760 MiB however large the node is.
func TestHeadroomDoesNotGrowWithTheNode(t *testing.T) {
	p := platform(t, tieredSpec)
	rapid.Check(t, func(t *rapid.T) {
		capacity := rapid.Int64Range(131073, 1<<24).Draw(t, "MiB") * mebi
		// awk keeps six digits: half of the last one is at most 0.5 MiB up to 99 TiB.
		require.InDelta(t, 1760.28, float64(p.Headroom(capacity, p.OfItself(capacity)))/float64(mebi), 0.6)
	})
	require.EqualValues(t, 1760, math.Round(float64(p.Headroom(2048*gibi, p.OfItself(2048*gibi)))/float64(mebi)))
	require.Negative(t, p.Headroom(2048*gibi, 0), "with nothing reserved pods alone bring soft eviction about")
}

func TestSpecsAreChecked(t *testing.T) {
	for name, tc := range map[string]struct {
		spec profile.KubeletMemory
		says string
	}{
		"formula":          {profile.KubeletMemory{Reserved: "Auto"}, `reserved: found "Auto", expected None or Tiered`},
		"no number":        {profile.KubeletMemory{EvictionHard: "much"}, `evictionHard: found "much", expected a quantity such as 100Mi or a percentage such as 1%`},
		"no percentage":    {profile.KubeletMemory{EvictionSoft: "x%"}, `evictionSoft: found "x%"`},
		"too much":         {profile.KubeletMemory{EvictionSoft: "101%"}, `evictionSoft: found "101%"`},
		"nothing":          {profile.KubeletMemory{EvictionHard: "0%"}, `evictionHard: found "0%"`},
		"NaN":              {profile.KubeletMemory{EvictionHard: "NaN%"}, `evictionHard: found "NaN%"`},
		"negative":         {profile.KubeletMemory{EvictionHard: "-1Gi"}, `evictionHard: found "-1Gi"`},
		"beyond belief":    {profile.KubeletMemory{EvictionHard: "9Pi"}, `evictionHard: found "9Pi"`},
		"CPU":              {profile.KubeletMemory{CPU: "many"}, `cpu: found "many", expected a quantity above zero`},
		"ephemeralStorage": {profile.KubeletMemory{EphemeralStorage: "-1"}, `ephemeralStorage: found "-1"`},
	} {
		_, err := NewPlatform(tc.spec)
		require.ErrorContains(t, err, tc.says, name)
	}
}
