package lastsample

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }

func open(g *Gate) bool {
	select {
	case <-g.Open():
		return true
	default:
		return false
	}
}

// Everyone who scraped lately is waited for, once each; a scrape that began before the end does not count.
func TestEveryScraperGetsItsLastSample(t *testing.T) {
	g := NewGate(Timing{Interval: 5 * time.Second, Grace: 30 * time.Second})
	g.Scraped("gone", at(0), at(0.1))
	g.Scraped("a", at(58), at(58.1))
	g.Scraped("b", at(59), at(59.1))
	g.Tell(at(60))
	require.Equal(t, 2, g.Awaited())
	g.Scraped("b", at(59.9), at(60.1))
	require.Equal(t, 2, g.Awaited(), "it was asked for before the end")
	g.Scraped("a", at(63), at(63.1))
	g.Scraped("a", at(63.5), at(63.6))
	require.False(t, open(g))
	g.Scraped("b", at(64), at(64.1))
	require.True(t, open(g))
	require.Zero(t, g.Awaited())
	g.Scraped("b", at(65), at(65.1))
}

// An exporter that collects once in a second may answer with what was before the end.
func TestSampleShowsTheEnd(t *testing.T) {
	g := NewGate(Timing{Interval: 5 * time.Second, Grace: 30 * time.Second, Collect: time.Second})
	g.Scraped("a", at(59), at(59.1))
	g.Tell(at(60))
	g.Scraped("a", at(60.9), at(61.1))
	require.False(t, open(g))
	require.Equal(t, 1, g.Awaited())
	g.Scraped("a", at(61), at(61.1))
	require.True(t, open(g))
}

func TestAnyoneIsWaitedForWhereNobodyScrapedYet(t *testing.T) {
	g := NewGate(Timing{Interval: 5 * time.Second, Grace: 30 * time.Second})
	g.Tell(at(1))
	require.Equal(t, 1, g.Awaited())
	require.False(t, open(g))
	g.Scraped("first", at(2), at(2.1))
	require.True(t, open(g))
}

func TestUntilWhen(t *testing.T) {
	for name, c := range map[string]struct {
		interval, grace, announced, told, want float64
		collect                                float64
	}{
		"two intervals":                         {5, 30, 0, 10, 20, 0},
		"two intervals of samples that count":   {1, 30, 0, 10, 13, 1},
		"what the engine left":                  {5, 30, 0, 25, 28.5, 0},
		"it left next to nothing":               {5, 30, 0, 29.9, 30.4, 0},
		"it took longer than it may":            {5, 30, 0, 31, 31.5, 0},
		"the kubelet is slow":                   {5, 30, 0, 34.9, 35.4, 0},
		"deleted with a longer grace period":    {5, 30, 0, 60, 70, 0},
		"a job ended, nobody said it would":     {5, 30, -1, 100, 110, 0},
		"a short grace period":                  {30, 5, 0, 0, 3.5, 0},
		"no grace period":                       {30, 0, 0, 0, 0.5, 0},
		"a long one does not hold the device":   {5, 3600, 0, 100, 110, 0},
		"said twice, the first time is the one": {60, 30, 2, 10, 30.5, 0},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewGate(Timing{Interval: time.Duration(c.interval * 1e9), Grace: time.Duration(c.grace * 1e9), Collect: time.Duration(c.collect * 1e9)})
			if c.announced >= 0 {
				g.Announce(at(c.announced))
				g.Announce(at(c.announced + 5))
			}
			require.Equal(t, at(c.want), g.Tell(at(c.told)))
		})
	}
}

func TestStrangersDoNotFillTheMemory(t *testing.T) {
	g := NewGate(Timing{Interval: time.Second, Grace: time.Second})
	for i := range 10_000 {
		g.Scraped(fmt.Sprint(i), at(float64(i)/1000), at(float64(i)/1000))
	}
	require.LessOrEqual(t, len(g.seen), 101)
}

// Who is waited for does not hang on the order of a map: the ones that are gone make room first, then who came longest ago.
func TestWhoIsForgotten(t *testing.T) {
	g := NewGate(Timing{Interval: time.Second, Grace: time.Minute})
	for i := range most - 1 {
		g.Scraped(fmt.Sprint("gone", i), at(0), at(0))
	}
	g.Scraped("prometheus", at(9), at(9))
	g.Scraped("second", at(10), at(10))
	require.Len(t, g.seen, 2, "only they scraped in the last three intervals")
	for i := range most - 2 {
		g.Scraped(fmt.Sprint("new", i), at(10), at(10))
	}
	require.Len(t, g.seen, most)
	g.Scraped("latest", at(11), at(11))
	require.Len(t, g.seen, most)
	require.NotContains(t, g.seen, "prometheus", "it was there longest ago")
	for _, scraper := range []string{"second", "latest"} {
		require.Contains(t, g.seen, scraper)
	}
}
