package inventory

import (
	"cmp"
	"math"
	"slices"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

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
	// at has an entry for each place, in no order; find knows where, once there are many.
	at   []*presence
	find map[place]*presence
	// total and twice are the counts of all parts.
	total v1alpha1.DeviceCounts
	twice int32
	// cards is nil where the pool has one place at most, of which total says all.
	cards *union
}

// presence is what a pool has at one place.
type presence struct {
	place     place
	parts     []*part
	published int32
	// devices is true when a slice has devices here or says that it has none, not counter sets only.
	devices bool
}

// fewPlaces is up to how many places a pool is searched without an index.
const fewPlaces = 8

// pools puts the digests of pools together, sorted by driver and name. nil digests are skipped.
func pools(all []*Slice) []*pool {
	sorted := make([]*Slice, 0, len(all))
	for _, s := range all {
		if s != nil {
			sorted = append(sorted, s)
		}
	}
	slices.SortFunc(sorted, comparePools)
	var out []*pool
	room := newUnion()
	for len(sorted) > 0 {
		n := 1
		for n < len(sorted) && comparePools(sorted[0], sorted[n]) == 0 {
			n++
		}
		p := newPool(sorted[:n], room)
		out = append(out, p)
		if p.cards != nil {
			room = newUnion()
		}
		room.reset()
		sorted = sorted[n:]
	}
	return out
}

// comparePools orders slices by driver and pool. Equal names are equal handles, so most comparisons read no text.
func comparePools(a, b *Slice) int {
	if a.driver != b.driver {
		return cmp.Compare(a.Driver(), b.Driver())
	}
	if a.pool != b.pool {
		return cmp.Compare(a.Pool(), b.Pool())
	}
	return 0
}

// newPool puts the slices of one pool together. The union is empty; it belongs to the pool afterwards where the pool keeps it.
func newPool(members []*Slice, cards *union) *pool {
	p := &pool{facts: members[0].driver.Value(), name: members[0].Pool(), generation: math.MinInt64, cards: cards}
	for _, s := range members {
		p.generation = max(p.generation, s.generation)
	}
	for _, s := range members {
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
	switch len(p.at) {
	case 0:
		p.cards = nil
	case 1:
		p.total, p.twice = p.counts(p.at[0].parts)
		p.cards = nil
	default:
		var parts []*part
		for _, here := range p.at {
			parts = append(parts, here.parts...)
		}
		p.total, p.twice = p.counts(parts)
	}
	return p
}

func (p *pool) add(part *part, countersOnly bool) {
	here := p.presence(part.place)
	if here == nil {
		here = &presence{place: part.place}
		p.at = append(p.at, here)
		if p.find != nil {
			p.find[here.place] = here
		}
	}
	here.parts = append(here.parts, part)
	here.published += part.published
	if !countersOnly && (part.published > 0 || len(part.cards) == 0) {
		here.devices = true
	}
	p.cards.add(part.cards)
}

// presence returns what the pool has at a place, nil for nothing.
func (p *pool) presence(at place) *presence {
	if p.find == nil && len(p.at) > fewPlaces {
		p.find = make(map[place]*presence, 2*len(p.at))
		for _, here := range p.at {
			p.find[here.place] = here
		}
	}
	if p.find != nil {
		return p.find[at]
	}
	for _, here := range p.at {
		if here.place == at {
			return here
		}
	}
	return nil
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

// counts counts the devices of all parts that the pool has at some places, and its cards that are published twice there.
func (p *pool) counts(parts []*part) (devices v1alpha1.DeviceCounts, twice int32) {
	if !p.facts.counted() {
		return devices, 0
	}
	if p.cards == nil {
		return p.total, p.twice
	}
	for _, part := range parts {
		devices.Published += part.published
		devices.Tainted += part.tainted
	}
	cards := p.cards.counts(parts)
	devices.Physical, devices.AllocatableWhole = cards.physical, cards.whole
	return devices, cards.twice
}
