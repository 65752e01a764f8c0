package reservation

import (
	"fmt"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// Status returns status.memoryReservation of the GPUNodeGroup, nil when the mode is Off: nothing is computed then.
func (r Result) Status(mode string) *v1alpha1.MemoryReservation {
	if mode == ModeOff {
		return nil
	}
	out := &v1alpha1.MemoryReservation{Mode: mode, Why: r.Why()}
	if f := r.Applied; f != nil {
		out.Applied = Quantity(f.Bytes)
	}
	if f := r.Headroom; f != nil {
		out.HeadroomBeforeSoftEviction = Quantity(f.Bytes)
	}
	n := r.Largest
	if n == nil {
		return out
	}
	out.DecidedBy, out.Term, out.Cards = n.Node, string(n.By), n.Cards
	if n.Recommended > 0 {
		out.Recommended = Quantity(n.Recommended)
	}
	for _, t := range n.Terms() {
		out.Breakdown = append(out.Breakdown, v1alpha1.MemoryTerm{Name: t.Name, Value: t.Value})
	}
	out.Spread = &v1alpha1.MemorySpread{Smallest: *Quantity(r.Smallest.Recommended), Largest: *Quantity(n.Recommended)}
	return out
}

// Why is one sentence: the node whose need is the group's, and how it comes about; or what is missing to say it.
func (r Result) Why() string {
	switch {
	case r.Largest != nil && r.Smallest.Recommended != r.Largest.Recommended:
		return fmt.Sprintf("node %s needs most, node %s least (%s): %s", r.Largest.Node, r.Smallest.Node, inMi(r.Smallest.Recommended), r.Largest.Why())
	case r.Largest != nil:
		return fmt.Sprintf("node %s: %s", r.Largest.Node, r.Largest.Why())
	case r.Nodes == 0:
		return "the group has no node yet"
	case r.LeastMemory == nil:
		return fmt.Sprintf("the memory of node %s is not known yet", r.MemoryUnknown)
	}
	return "no card was seen on any node of the group yet"
}
