package inventory

import (
	"cmp"
	"slices"
	"sync"
	"unique"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Digester condenses ResourceSlices by one set of profiles. It is safe for concurrent use.
type Digester struct {
	profiles *profile.Set
	readers  sync.Map // driver name → *reader
}

// NewDigester returns a Digester. profiles may be nil: then no driver is known.
func NewDigester(profiles *profile.Set) *Digester { return &Digester{profiles: profiles} }

// Digest condenses one slice with a Digester of its own. For many slices make one Digester.
func Digest(slice *resourcev1.ResourceSlice, profiles *profile.Set) *Slice {
	return NewDigester(profiles).Digest(slice)
}

// Transform is a client-go TransformFunc: it condenses ResourceSlices and leaves everything else as it is, digests
// included, since informers call it again on what they already hold.
func (d *Digester) Transform(obj any) (any, error) {
	if s, ok := obj.(*resourcev1.ResourceSlice); ok {
		return d.Digest(s), nil
	}
	return obj, nil
}

// Digest condenses one slice. It keeps no reference to it. Whatever the slice holds, the result is usable: what cannot be
// understood counts as not published. nil gives nil.
func (d *Digester) Digest(slice *resourcev1.ResourceSlice) *Slice {
	if slice == nil {
		return nil
	}
	r := d.reader(slice.Spec.Driver)
	out := &Slice{
		ObjectMeta:     metav1.ObjectMeta{Name: slice.Name, UID: slice.UID, ResourceVersion: slice.ResourceVersion},
		driver:         r.facts,
		pool:           unique.Make(slice.Spec.Pool.Name),
		generation:     slice.Spec.Pool.Generation,
		announced:      slice.Spec.Pool.ResourceSliceCount,
		countersOnly:   len(slice.Spec.Devices) == 0 && len(slice.Spec.SharedCounters) > 0,
		inlineCounters: len(slice.Spec.Devices) > 0 && len(slice.Spec.SharedCounters) > 0,
	}
	b := newBuilder(slice, r)
	for i := range slice.Spec.Devices {
		b.device(&slice.Spec.Devices[i])
	}
	out.parts = b.finish()
	return out
}

func (d *Digester) reader(driver string) *reader {
	if r, ok := d.readers.Load(driver); ok {
		return r.(*reader)
	}
	r, _ := d.readers.LoadOrStore(driver, newReader(driver, d.profiles))
	return r.(*reader)
}

// builder gathers the parts of one slice.
type builder struct {
	slice *resourcev1.ResourceSlice
	*reader
	perDevice bool
	// inline marks the counter sets that the slice itself declares. In the layout before Kubernetes 1.35 their names mean
	// something within the slice only; a set that the slice does not declare is the pool's.
	inline, pool mark
	drafts       []*draft
}

// draft is a part with what is needed only while it grows.
type draft struct {
	part
	alike             []groupDraft
	identity, address mark
}

type groupDraft struct {
	group
	count, tainted int32
	// drawn is the place of the group before groups are sorted.
	drawn int
}

func newBuilder(slice *resourcev1.ResourceSlice, r *reader) *builder {
	b := &builder{
		slice:  slice,
		reader: r,
		inline: domain(domainSliceCounters, slice.Name),
		pool:   domain(domainPoolCounters, ""),
	}
	at := placeOf(slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.NodeSelector != nil)
	b.perDevice = at.scope == scopeUnplaced && slice.Spec.PerDeviceNodeSelection != nil && *slice.Spec.PerDeviceNodeSelection
	if b.perDevice && (!r.counted || len(slice.Spec.SharedCounters) == 0) {
		return b
	}
	home := b.at(at)
	if !r.counted {
		return b
	}
	declared := b.pool
	if len(slice.Spec.Devices) > 0 {
		declared = b.inline
	}
	for i := range slice.Spec.SharedCounters {
		if m := declared.in(slice.Spec.SharedCounters[i].Name); m != 0 {
			home.mark(card{marks: [3]mark{markCounters: m}})
		}
	}
	return b
}

func placeOf(nodeName *string, allNodes *bool, selector bool) place {
	switch {
	case nodeName != nil && *nodeName != "":
		return place{scope: scopeNode, node: unique.Make(*nodeName)}
	case allNodes != nil && *allNodes:
		return place{scope: scopeAllNodes, node: noNode}
	case selector:
		return place{scope: scopeSelector, node: noNode}
	default:
		return place{scope: scopeUnplaced, node: noNode}
	}
}

// at returns the draft of a place.
func (b *builder) at(p place) *draft {
	for i := len(b.drafts) - 1; i >= 0; i-- {
		if b.drafts[i].place == p {
			return b.drafts[i]
		}
	}
	node := p.node.Value()
	d := &draft{part: part{place: p}, identity: domain(domainIdentity, node), address: domain(domainAddress, node)}
	b.drafts = append(b.drafts, d)
	return d
}

// mark adds a card, or what is published of one that is there.
func (d *draft) mark(c card) {
	for i := len(d.cards) - 1; i >= 0; i-- {
		if d.cards[i].marks == c.marks {
			d.cards[i].flags |= c.flags
			return
		}
	}
	d.cards = append(d.cards, c)
}

// finish returns the parts in an order that does not depend on that of the devices: drivers publish theirs in any.
func (b *builder) finish() []part {
	parts := make([]part, len(b.drafts))
	for i, d := range b.drafts {
		slices.SortFunc(d.cards, func(a, b card) int { return slices.Compare(a.marks[:], b.marks[:]) })
		// A copy without room to grow, since digests live as long as their slices.
		d.cards = append([]card(nil), d.cards...)
		slices.SortFunc(d.alike, func(a, b groupDraft) int { return a.compare(b.group) })
		d.groups = make([]tally, len(d.alike))
		sorted := make([]int, len(d.alike))
		for j, g := range d.alike {
			d.groups[j] = tally{group: unique.Make(g.group), count: g.count, tainted: g.tainted}
			sorted[g.drawn] = j
		}
		for j, p := range d.devices {
			d.devices[j] = newPublished(p.id(), sorted[p.group()], p.tainted())
		}
		slices.Sort(d.devices)
		d.devices = append([]published(nil), d.devices...)
		parts[i] = d.part
	}
	slices.SortFunc(parts, func(a, b part) int {
		return cmp.Or(cmp.Compare(a.place.scope, b.place.scope), cmp.Compare(a.place.node.Value(), b.place.node.Value()))
	})
	return parts
}
