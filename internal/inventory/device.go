package inventory

import (
	"slices"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// device adds one device to the part of its place.
func (b *builder) device(dev *resourcev1.Device) {
	d := b.home(dev)
	d.published++
	if !b.counted {
		return
	}
	var tainted int32
	if isTainted(dev) {
		tainted = 1
	}
	d.tainted += tainted
	g := b.group(dev)
	at := d.count(g, tainted)
	if b.profile != nil && at <= maxGroup {
		d.devices = append(d.devices, newPublished(IDOf(dev.Name), at, tainted > 0))
	}
	b.card(d, dev, g.kind)
}

func (b *builder) home(dev *resourcev1.Device) *draft {
	if !b.perDevice {
		return b.drafts[0]
	}
	return b.at(placeOf(dev.NodeName, dev.AllNodes, dev.NodeSelector != nil))
}

// count returns the place of the group in d.alike.
func (d *draft) count(g group, tainted int32) int {
	// Like devices stand together, so the last group is the first to try.
	for i := len(d.alike) - 1; i >= 0; i-- {
		if d.alike[i].group == g {
			d.alike[i].count++
			d.alike[i].tainted += tainted
			return i
		}
	}
	d.alike = append(d.alike, groupDraft{group: g, count: 1, tainted: tainted, drawn: len(d.alike)})
	return len(d.alike) - 1
}

// isTainted is true for a taint that keeps claims without a toleration away. None informs only (Kubernetes 1.35).
func isTainted(dev *resourcev1.Device) bool {
	return slices.ContainsFunc(dev.Taints, func(t resourcev1.DeviceTaint) bool {
		return t.Effect == resourcev1.DeviceTaintEffectNoSchedule || t.Effect == resourcev1.DeviceTaintEffectNoExecute
	})
}

// card adds what the device says of the card it sits on.
func (b *builder) card(d *draft, dev *resourcev1.Device, kind v1alpha1.DeviceKind) {
	var c card
	if b.profile != nil {
		// An identity and an address mean something on their node only: what names different nodes is on different cards.
		c.marks[markIdentity] = d.identity.in(b.identityOf(dev, kind))
		c.marks[markAddress] = d.address.in(text(dev, b.address))
	}
	first, more := b.counterSets(dev)
	c.marks[markCounters] = first
	switch kind {
	case v1alpha1.DeviceWhole:
		c.flags = cardWhole | cardFull
	case v1alpha1.DevicePassthrough:
		c.flags = cardFull
	case v1alpha1.DevicePartition:
		c.flags = cardPart
	case v1alpha1.DeviceOther:
		// Nobody says what devices of an unknown driver are: one that shares nothing with others is taken for a whole one.
		if b.profile == nil && first == 0 {
			c.flags = cardWhole
		}
	}
	if first == 0 && kind != v1alpha1.DeviceOther {
		c.flags |= cardUncounted
	}
	if c.marks == ([3]mark{}) {
		d.loose++
		if c.flags&cardWhole != 0 {
			d.looseWhole++
		}
		return
	}
	d.mark(c)
	for _, m := range more {
		d.mark(card{marks: [3]mark{markCounters: m}, flags: c.flags})
	}
}

// counterSets returns the marks of the counter sets that a device consumes. The identity goes with the first by name, so
// that it makes no card of its own.
func (b *builder) counterSets(dev *resourcev1.Device) (first mark, more []mark) {
	var names []string
	switch len(dev.ConsumesCounters) {
	case 0:
		return 0, nil
	case 1:
		return b.counterMark(dev.ConsumesCounters[0].CounterSet), nil
	}
	for _, c := range dev.ConsumesCounters {
		if c.CounterSet != "" {
			names = append(names, c.CounterSet)
		}
	}
	slices.Sort(names)
	for i, name := range slices.Compact(names) {
		if i == 0 {
			first = b.counterMark(name)
		} else {
			more = append(more, b.counterMark(name))
		}
	}
	return first, more
}

func (b *builder) counterMark(name string) mark {
	for i := range b.slice.Spec.SharedCounters {
		if b.slice.Spec.SharedCounters[i].Name == name {
			return b.inline.in(name)
		}
	}
	return b.pool.in(name)
}
