package reservation

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

func TestRecommended(t *testing.T) {
	tieredPlatform, plain := platform(t, tieredSpec), platform(t, plainSpec)
	s := defaults(t)
	half := s
	half.SystemNeed = quantity("2Gi")
	hardly := s
	hardly.SystemNeed = quantity("2593Mi")
	for name, tc := range map[string]struct {
		p               Platform
		s               settings.MemoryReservation
		capacity, cards int64
		mi              int64
		by              Decider
		why             string
	}{
		// Auto 22731.8, devices 832: 23563.8; 4096 + 41943.04 - 20971.52 = 25067.52.
		"2 TiB, 8 cards": {tieredPlatform, s, 2048 * gibi, 8, 25068, BySystemNeed,
			"systemNeed decides: 4096Mi of systemNeed and the 20972Mi between hard and soft eviction (25068Mi) are more than the platform's own 22732Mi and 832Mi for 8 cards (23564Mi)"},
		"2 TiB, 8 cards, 2Gi": {tieredPlatform, half, 2048 * gibi, 8, 23564, ByDevices,
			"the cards decide: the platform's own 22732Mi and 832Mi for 8 cards (23564Mi) are no less than 2048Mi of systemNeed and the 20972Mi between hard and soft eviction (23020Mi)"},
		"2 TiB, hardly more": {tieredPlatform, hardly, 2048 * gibi, 8, 23565, BySystemNeed, ""},
		// As a machine with 2 TiB fitted shows it: 22397.6 + 832 against 4096 + 20637.31.
		"2063731 MiB, 8 cards": {tieredPlatform, s, 2063731 * mebi, 8, 24734, BySystemNeed, ""},
		"128 GiB, 8 cards":     {tieredPlatform, s, 128 * gibi, 8, 5407, BySystemNeed, ""},
		"128 GiB + 1 MiB":      {tieredPlatform, s, 128*gibi + mebi, 8, 5407, BySystemNeed, ""},
		"128 GiB, 64 cards":    {tieredPlatform, s, 128 * gibi, 64, 5813, ByDevices, ""},
		"the fall shows":       {tieredPlatform, s, 128*gibi + mebi, 64, 5760, ByDevices, ""},
		"64 GiB, 4 cards": {tieredPlatform, s, 64 * gibi, 4, 1815, ByPlatform,
			"4 cards are fewer than minDevices (8): the platform's own 1815Mi are recommended"},
		"64 GiB, 8 cards":         {tieredPlatform, s, 64 * gibi, 8, 4752, BySystemNeed, ""},
		"no card":                 {tieredPlatform, s, 64 * gibi, 0, 1815, ByPlatform, ""},
		"Kubernetes' own, 2 TiB":  {plain, s, 2048 * gibi, 8, 4096, BySystemNeed, ""},
		"Kubernetes' own, 4":      {plain, s, 64 * gibi, 4, 0, ByPlatform, "4 cards are fewer than minDevices (8): what the kubelet is configured with stands"},
		"nothing asked for":       {tieredPlatform, settings.MemoryReservation{}, 64 * gibi, 8, 1815, ByPlatform, "the platform decides: its own 1815Mi are no less than 0Mi of systemNeed and the 656Mi between hard and soft eviction (656Mi)"},
		"nothing asked, no cards": {tieredPlatform, settings.MemoryReservation{}, 64 * gibi, 0, 1815, ByPlatform, "0 cards are fewer than minDevices (1)"},
	} {
		n := Recommend(tc.p, tc.s, tc.capacity, tc.cards)
		require.Equal(t, tc.mi*mebi, n.Recommended, name)
		require.Equal(t, tc.by, n.By, name)
		require.Contains(t, n.Why(), tc.why, name)
	}
}

func TestTermsOfANeed(t *testing.T) {
	n := Recommend(platform(t, tieredSpec), defaults(t), 2048*gibi, 8)
	got := map[string]string{}
	for _, term := range n.Terms() {
		got[term.Name] = term.Value.String()
	}
	require.Equal(t, map[string]string{"Platform": "23836019917", "Devices": "832Mi", "SystemNeed": "4Gi",
		"EvictionSoft": "43980465111", "EvictionHard": "21990232556"}, got)
}

func TestDevicePart(t *testing.T) {
	s := defaults(t)
	for cards, mi := range map[int64]int64{1: 576, 2: 640, 4: 704, 8: 832, 16: 1088, 64: 2688} {
		require.Equal(t, mi*mebi, devicePart(s, cards), "%d cards", cards)
	}
	// 1.1 x 640 MiB is 704 MiB, a multiple of 64: as a binary fraction 1.1 would make it a little more, and 768.
	s.Base, s.PerDevice = quantity("0"), quantity("640Mi")
	require.Equal(t, 704*mebi, devicePart(s, 1))
	require.Equal(t, 7040*mebi, devicePart(s, 10))
	for _, overhead := range []float64{0, -3, 0.5, math.NaN(), math.Inf(1), math.Inf(-1)} {
		s.Overhead = overhead
		require.Equal(t, 640*mebi, devicePart(s, 1), "an overhead of %v is none", overhead)
	}
	s.Overhead = math.MaxFloat64
	require.Equal(t, maxBytes, devicePart(s, 1))
}

// extremes draws numbers that bytes and cards should never be, as well as those they are.
func extremes() *rapid.Generator[int64] {
	return rapid.OneOf(rapid.Int64Range(0, 1<<42), rapid.Int64(), rapid.SampledFrom([]int64{math.MinInt64, -1, 0, 1, maxBytes, maxBytes + 1, math.MaxInt64}))
}

func anySettings(t *rapid.T) settings.MemoryReservation {
	draw := func(label string) *int64 { return rapid.Ptr(extremes(), true).Draw(t, label) }
	var s settings.MemoryReservation
	if v := draw("systemNeed"); v != nil {
		s.SystemNeed = Quantity(*v)
	}
	if v := draw("base"); v != nil {
		s.Base = Quantity(*v)
	}
	if v := draw("perDevice"); v != nil {
		s.PerDevice = Quantity(*v)
	}
	s.Overhead = rapid.OneOf(rapid.Float64Range(1, 10), rapid.Float64(), rapid.Just(math.NaN()), rapid.Just(math.Inf(1))).Draw(t, "overhead")
	s.MinDevices = rapid.OneOf(rapid.Int32Range(0, 16), rapid.Int32()).Draw(t, "minDevices")
	s.Mode = rapid.SampledFrom([]string{"", ModeOff, ModeAdvise, ModeApply, "?"}).Draw(t, "mode")
	return s
}

func anyPlatform(t *rapid.T) Platform {
	return platform(t, rapid.SampledFrom([]profile.KubeletMemory{{}, tieredSpec, plainSpec, {Reserved: ReservedTiered, EvictionHard: "100%", EvictionSoft: "8Pi"}}).Draw(t, "platform"))
}

func TestRecommendedIsWholeAndNeverBelowThePlatform(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := anyPlatform(t), anySettings(t)
		n := Recommend(p, s, extremes().Draw(t, "capacity"), extremes().Draw(t, "cards"))
		require.Zero(t, n.Recommended%mebi)
		require.GreaterOrEqual(t, n.Recommended, n.Platform)
		require.LessOrEqual(t, n.Recommended, 4*maxBytes, "sums and percentages of it fit an int64")
		require.Zero(t, n.Devices%deviceUnit)
		require.NotEmpty(t, n.Why())
		if n.By == ByPlatform {
			require.Less(t, n.Recommended-n.Platform, mebi)
		} else {
			require.GreaterOrEqual(t, n.Cards, n.MinDevices)
			require.GreaterOrEqual(t, n.Recommended, n.Platform+n.Devices)
			require.GreaterOrEqual(t, p.Headroom(n.Capacity, n.Recommended), n.SystemNeed, "daemons get what they are said to need")
		}
	})
}

// More cards or a larger need never lower the recommendation; more memory may (TestWhereTieredIsNotMonotonic).
func TestRecommendedGrowsWithWhatIsAskedFor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := platform(t, tieredSpec), defaults(t)
		capacity, cards := rapid.Int64Range(0, 4096).Draw(t, "GiB")*gibi, rapid.Int64Range(0, 64).Draw(t, "cards")
		s.SystemNeed = Quantity(rapid.Int64Range(0, 64*gibi).Draw(t, "systemNeed"))
		before := Recommend(p, s, capacity, cards).Recommended
		require.GreaterOrEqual(t, Recommend(p, s, capacity, cards+1).Recommended, before)
		s.SystemNeed = Quantity(settingBytes(s.SystemNeed) + rapid.Int64Range(0, gibi).Draw(t, "more"))
		require.GreaterOrEqual(t, Recommend(p, s, capacity, cards).Recommended, before)
	})
}

// Where the platform's own reservation falls, a recommendation that rests on it falls too, and by no more; one that rests on
// systemNeed does not.
func TestRecommendedAroundTheFall(t *testing.T) {
	const top, fall = 131072, 54
	p := platform(t, tieredSpec)
	seen := map[Decider]bool{}
	rapid.Check(t, func(t *rapid.T) {
		s := defaults(t)
		s.SystemNeed = Quantity(rapid.Int64Range(0, 8).Draw(t, "GiB of systemNeed") * gibi)
		mib := rapid.OneOf(rapid.Just(int64(top)), rapid.Int64Range(top-300, top+6000)).Draw(t, "MiB")
		cards := rapid.Int64Range(1, 64).Draw(t, "cards")
		before, after := Recommend(p, s, mib*mebi, cards), Recommend(p, s, (mib+1)*mebi, cards)
		step := after.Recommended - before.Recommended
		if mib != top {
			require.GreaterOrEqual(t, step, int64(0))
			return
		}
		seen[before.By] = true
		require.GreaterOrEqual(t, step, -fall*mebi)
		if before.By == BySystemNeed {
			require.GreaterOrEqual(t, step, int64(0))
		} else if after.By == before.By {
			require.Less(t, step, int64(0))
		}
	})
	require.Len(t, seen, 3, "every term decides on some node")
}
