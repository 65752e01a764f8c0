package inventory

import "hash/maphash"

// cardFlags say what is published of a card.
type cardFlags uint8

const (
	// cardWhole: its whole device.
	cardWhole cardFlags = 1 << iota
	// cardFull: a device that takes all of it, whole or passthrough.
	cardFull
	// cardPart: a partition of it.
	cardPart
	// cardUncounted: a full device or a partition that consumes no counters.
	cardUncounted
	// cardSeen marks a card that is being counted.
	cardSeen
)

// publishedTwice is true where the scheduler may give out the whole card and a partition of it at the same time.
func (f cardFlags) publishedTwice() bool {
	const all = cardFull | cardPart | cardUncounted
	return f&all == all
}

// card is what one or more devices say of the card that they sit on: up to three marks that identify it, 0 for none.
// Cards that share a mark are one. Several counter sets make several cards.
type card struct {
	marks [3]mark
	flags cardFlags
}

const (
	markCounters = iota
	markIdentity
	markAddress
)

// mark is a hash of something that identifies a card within its pool. Only equality counts, so the text is not kept: eight
// bytes instead of a uuid. Marks differ from process to process.
type mark uint64

var seed = maphash.MakeSeed()

// Domains of marks: equal texts of different domains are different marks.
const (
	domainPoolCounters  = "pool counters"
	domainSliceCounters = "slice counters"
	domainIdentity      = "identity"
	domainAddress       = "address"
)

// domain returns what marks of one kind within one scope (a node, a slice) have in common.
func domain(kind, scope string) mark {
	return mark(maphash.String(seed, kind) ^ maphash.String(seed, scope)*0x9e3779b97f4a7c15)
}

// in returns the mark of a text in a domain; none for no text.
func (m mark) in(text string) mark {
	if text == "" {
		return 0
	}
	h := m ^ mark(maphash.String(seed, text))
	if h == 0 {
		return 1
	}
	return h
}

// cardCounts counts cards.
type cardCounts struct{ physical, whole, twice int32 }

func (c *cardCounts) count(f cardFlags) {
	c.physical++
	if f&cardWhole != 0 {
		c.whole++
	}
	if f.publishedTwice() {
		c.twice++
	}
}

// union joins the cards of one pool that share a mark.
type union struct {
	index  map[mark]int32
	parent []int32
	// flags and seen are room for counts: by root, all zero between two counts, and the roots that are not.
	flags []cardFlags
	seen  []int32
}

func newUnion() *union { return &union{index: map[mark]int32{}} }

// reset makes the union fit for another pool.
func (u *union) reset() {
	clear(u.index)
	u.parent, u.flags = u.parent[:0], u.flags[:0]
}

func (u *union) add(cards []card) {
	for i := range cards {
		first := int32(-1)
		for _, m := range cards[i].marks {
			if m == 0 {
				continue
			}
			n := u.node(m)
			if first < 0 {
				first = n
				continue
			}
			u.parent[u.root(n)] = u.root(first)
		}
	}
}

func (u *union) node(m mark) int32 {
	n, ok := u.index[m]
	if !ok {
		n = int32(len(u.parent))
		u.index[m] = n
		u.parent = append(u.parent, n)
		u.flags = append(u.flags, 0)
	}
	return n
}

func (u *union) root(n int32) int32 {
	for u.parent[n] != n {
		u.parent[n] = u.parent[u.parent[n]]
		n = u.parent[n]
	}
	return n
}

// counts counts the cards that the parts stand on. All cards of the pool must have been added before.
func (u *union) counts(parts []*part) cardCounts {
	var c cardCounts
	u.seen = u.seen[:0]
	for _, p := range parts {
		c.physical += p.loose
		c.whole += p.looseWhole
		for i := range p.cards {
			u.see(&p.cards[i])
		}
	}
	for _, r := range u.seen {
		c.count(u.flags[r])
		u.flags[r] = 0
	}
	return c
}

func (u *union) see(c *card) {
	for _, m := range c.marks {
		if m == 0 {
			continue
		}
		r := u.root(u.index[m])
		if u.flags[r] == 0 {
			u.seen = append(u.seen, r)
		}
		u.flags[r] |= c.flags | cardSeen
		return
	}
}
