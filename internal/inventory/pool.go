package inventory

import (
	"cmp"
	"math"
	"slices"
	"unique"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// poolKey names a pool.
type poolKey struct {
	driver unique.Handle[driverFacts]
	name   unique.Handle[string]
}

// pool is one pool at its newest generation.
type pool struct {
	facts      driverFacts
	name       string
	generation int64
	slices     int32
	stale      int32
	announced  int64
	// disagree: slices of one generation announce different numbers. Such a pool is never complete.
	disagree bool
	at       map[place]*presence
	cards    *union
	// total and twice are the counts of all parts.
	total v1alpha1.DeviceCounts
	twice int32
}

// presence is what a pool has at one place.
type presence struct {
	parts     []*part
	published int32
	// devices is true when one of the slices that name the place has devices or says that it has none, not counters only.
	devices bool
}

// pools puts the digests of pools together, sorted by driver and name. nil digests are skipped.
func pools(all []*Slice) []*pool {
	members := map[poolKey][]*Slice{}
	for _, s := range all {
		if s != nil {
			k := poolKey{s.driver, s.pool}
			members[k] = append(members[k], s)
		}
	}
	out := make([]*pool, 0, len(members))
	for k, list := range members {
		out = append(out, newPool(k, list))
	}
	slices.SortFunc(out, func(a, b *pool) int {
		return cmp.Or(cmp.Compare(a.facts.name, b.facts.name), cmp.Compare(a.name, b.name))
	})
	return out
}

func newPool(k poolKey, list []*Slice) *pool {
	p := &pool{facts: k.driver.Value(), name: k.name.Value(), generation: math.MinInt64, at: map[place]*presence{}, cards: newUnion()}
	for _, s := range list {
		p.generation = max(p.generation, s.generation)
	}
	for _, s := range list {
		if s.generation != p.generation {
			p.stale++
			continue
		}
		if p.slices > 0 && s.announced != p.announced {
			p.disagree = true
		}
		p.announced = max(p.announced, s.announced)
		p.slices++
		for i := range s.parts {
			p.add(&s.parts[i], s.countersOnly)
		}
	}
	var parts []*part
	for _, here := range p.at {
		parts = append(parts, here.parts...)
	}
	p.total, p.twice = p.counts(parts)
	return p
}

func (p *pool) add(part *part, countersOnly bool) {
	here := p.at[part.place]
	if here == nil {
		here = &presence{}
		p.at[part.place] = here
	}
	here.parts = append(here.parts, part)
	here.published += part.published
	here.devices = here.devices || !countersOnly
	p.cards.add(part.cards)
}

// complete: as many slices as announced, and not one more.
func (p *pool) complete() bool { return !p.disagree && int64(p.slices) == p.announced }

// state is the pool as a status shows it, with the counts of some of its parts.
func (p *pool) state(devices v1alpha1.DeviceCounts) v1alpha1.PoolState {
	return v1alpha1.PoolState{
		Driver:         p.facts.name,
		Name:           p.name,
		Generation:     p.generation,
		Slices:         p.slices,
		ExpectedSlices: int32(min(max(p.announced, 0), math.MaxInt32)),
		Complete:       p.complete(),
		StaleSlices:    p.stale,
		Devices:        devices,
	}
}

// counts counts the devices of parts of the pool, and its cards that are published twice there.
func (p *pool) counts(parts []*part) (devices v1alpha1.DeviceCounts, twice int32) {
	if !p.facts.counted() {
		return devices, 0
	}
	for _, part := range parts {
		devices.Published += part.published
		devices.Tainted += part.tainted
	}
	cards := p.cards.counts(parts)
	devices.Physical, devices.AllocatableWhole = cards.physical, cards.whole
	return devices, cards.twice
}

// countsAt counts what the pool has at one place.
func (p *pool) countsAt(here *presence) (devices v1alpha1.DeviceCounts, twice int32) {
	if len(p.at) == 1 {
		return p.total, p.twice
	}
	return p.counts(here.parts)
}
