// Package lastsample keeps an exporter scraped until the work beside it is over: after it was told to end, it answers until
// everyone who scrapes has had one more sample, or time is up.
//
// The kubelet ends a native sidecar after the pod's main containers, in what they left of the grace period. A scraper that
// comes every few seconds sees what they did last only if the exporter is still there then.
package lastsample

import (
	"sync"
	"time"
)

// Timing of the end.
type Timing struct {
	// Interval of scraping.
	Interval time.Duration
	// Grace is the pod's terminationGracePeriodSeconds.
	Grace time.Duration
	// Collect is how old what a sample shows may be: exporters answer with what they collected last.
	Collect time.Duration
}

const (
	// waits are how many intervals the last sample is waited for, once there may be one (Collect): nobody scrapes, or one would
	// have come. The devices stay allocated meanwhile.
	waits = 2
	// remembered are how many intervals ago somebody may have scraped to be waited for.
	remembered = 3
	// least is waited even where the main containers have used the grace period up: the kubelet leaves 2 s then.
	least = 500 * time.Millisecond
	// overdue after the grace period nothing of the pod runs any more, a slow kubelet included: it was deleted with a longer one,
	// of which no container is told.
	overdue = 5 * time.Second
	// most are how many scrapers are remembered: a pod has few, and a stranger a request must not fill the memory.
	most = 100
)

// Reserve of the grace period is for what comes after the wait: ending the answers under way and the exporter.
const Reserve = 1500 * time.Millisecond

// Gate knows who scrapes, and says when the exporter may end. It is told the time.
type Gate struct {
	timing Timing

	mu   sync.Mutex
	seen map[string]time.Time
	// announced is when the pod began to end, told when this container was.
	announced, told time.Time
	// awaited are the scrapers that have not come since; anyone is true while nobody has.
	awaited map[string]bool
	anyone  bool
	open    chan struct{}
}

// NewGate returns a gate that is shut.
func NewGate(t Timing) *Gate {
	return &Gate{timing: t, seen: map[string]time.Time{}, open: make(chan struct{})}
}

// Announce says that the pod has begun to end: the grace period runs.
func (g *Gate) Announce(now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.announced.IsZero() {
		g.announced = now
	}
}

// Tell says that it is this container's turn to end, and returns until when the last sample may be waited for.
func (g *Gate) Tell(now time.Time) (until time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.told, g.anyone, g.awaited = now, true, map[string]bool{}
	for scraper, last := range g.seen {
		if now.Sub(last) <= remembered*g.timing.Interval {
			g.awaited[scraper] = true
		}
	}
	began := g.announced
	if began.IsZero() {
		began = now
	}
	if now.Sub(began) > g.timing.Grace+overdue {
		began = now
	}
	until = began.Add(g.timing.Grace - Reserve)
	if earliest := now.Add(least); until.Before(earliest) {
		until = earliest
	}
	if latest := now.Add(g.timing.Collect + waits*g.timing.Interval); until.After(latest) {
		until = latest
	}
	return until
}

// Scraped says that somebody has been given a whole sample that was asked for at began.
func (g *Gate) Scraped(scraper string, began, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.seen[scraper] = now
	if len(g.seen) > most {
		g.forget(now)
	}
	// What was collected before the work was over does not show its end.
	if g.told.IsZero() || began.Before(g.told.Add(g.timing.Collect)) {
		return
	}
	g.anyone = false
	delete(g.awaited, scraper)
	if len(g.awaited) == 0 {
		g.openUp()
	}
}

// forget those that nobody waits for any more and, where all are of late, who was there longest ago.
func (g *Gate) forget(now time.Time) {
	oldest, at := "", now
	for scraper, last := range g.seen {
		if now.Sub(last) > remembered*g.timing.Interval {
			delete(g.seen, scraper)
		} else if !last.After(at) {
			oldest, at = scraper, last
		}
	}
	if len(g.seen) > most {
		delete(g.seen, oldest)
	}
}

func (g *Gate) openUp() {
	select {
	case <-g.open:
	default:
		close(g.open)
	}
}

// Open is closed when all who scrape have had their last sample.
func (g *Gate) Open() <-chan struct{} { return g.open }

// Awaited is how many scrapers have not come since Tell, at least 1 while nobody has.
func (g *Gate) Awaited() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.anyone {
		return max(1, len(g.awaited))
	}
	return len(g.awaited)
}
