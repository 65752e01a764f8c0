package reservation

import "fmt"

// Bounds of what is written. One figure goes to every node of the group, and a kubelet that has to reserve more than it has
// does not start (validateNodeAllocatable in pkg/kubelet/cm/node_container_manager_linux.go).
const (
	// maxSpread: the smallest need of the group may be this many percent below the largest.
	maxSpread = 25
	// maxShare: the reservation may take this many percent of the smallest node's memory.
	maxShare = 10
)

// bounds refuses a figure that does not fit all nodes of the group.
func (in Input) bounds(target int64) (Decision, bool) {
	r := in.Result
	switch {
	case r.MemoryUnknown != "":
		return in.leave(ReasonFactsUnknown, "the memory of node %s is not known: %s may be too much for it", r.MemoryUnknown, inMi(target)), true
	case (r.Largest.Recommended-r.Smallest.Recommended)*100 > r.Largest.Recommended*maxSpread:
		return in.leave(ReasonNodesDiffer, "node %s needs %s and node %s %s, more than %d %% apart: split the group, or write %s.static by hand",
			r.Largest.Node, inMi(r.Largest.Recommended), r.Smallest.Node, inMi(r.Smallest.Recommended), maxSpread, FieldPath), true
	case target*100 > r.LeastMemory.Bytes*maxShare:
		return in.leave(ReasonTooLarge, "%s are more than %d %% of the memory of node %s (%s): lower memoryReservation.systemNeed or base and perDevice, or write %s.static by hand",
			inMi(target), maxShare, r.LeastMemory.Node, inMi(r.LeastMemory.Bytes), FieldPath), true
	case r.MostPlatform.Bytes > target:
		return in.leave(ReasonNodesDiffer, "the platform reserves %s on node %s by itself, more than the %s recommended for the nodes with cards: move it to another group, or write %s.static by hand",
			inMi(r.MostPlatform.Bytes), r.MostPlatform.Node, inMi(target), FieldPath), true
	}
	return Decision{}, false
}

// mind warns of what was written when it does not fit nodes that joined later: they have too little memory for it, or so much
// that the platform would reserve more. It is not taken back: that is a person's decision, because the other nodes need it.
func (in Input) mind(own int64) string {
	var out string
	if f := in.Result.LeastMemory; f != nil && own*100 > f.Bytes*maxShare {
		out += fmt.Sprintf("; mind that it is more than %d %% of the memory of node %s (%s)", maxShare, f.Node, inMi(f.Bytes))
	}
	if f := in.Result.MostPlatform; f != nil && f.Bytes-own > rewriteAbove {
		out += fmt.Sprintf("; mind that the platform by itself would reserve %s on node %s: move it to another group", inMi(f.Bytes), f.Node)
	}
	return out
}

// newRecord is what is written the first time. Static means only the given fields, so over Auto all that Auto gives is
// written; over a smaller Static the memory alone, and the rest is left to who wrote it.
func (in Input) newRecord(now standing, target int64) record {
	static := map[string]any{keyMemory: Quantity(target).String()}
	if now.mode != reservationStatic {
		if in.Platform.cpu != "" {
			static[keyCPU] = in.Platform.cpu
		}
		if in.Platform.ephemeralStorage != "" {
			static[keyEphemeralStorage] = in.Platform.ephemeralStorage
		}
	}
	rec := record{Written: map[string]any{keyMode: reservationStatic, keyStatic: static}, Figures: figures(in.Settings)}
	if in.NodeGroup.Reservation != nil {
		rec.Before = copied(in.NodeGroup.Reservation)
	}
	return rec
}

func (in Input) write(rec record, target int64) Decision {
	d := Decision{Action: Write, Reason: ReasonApplying, Reservation: rec.over(in.NodeGroup.Reservation), Annotation: rec.text()}
	if rec.stands(in.NodeGroup.Reservation) {
		d.Message = in.say("%s of memory are reserved, with the present settings as with those before; only the annotation is written", inMi(target))
		return d
	}
	d.Message = in.say("%s becomes %s, because %s; %s", FieldPath, show(d.Reservation), in.Result.Why(), restarts)
	return d
}

// topologyManager: the platform switches the static memory manager on with it, whose state file then names the old reservation
// (validateState in pkg/kubelet/cm/memorymanager/policy_static.go), and removes no state file.
func (in Input) topologyManager(next string) Decision {
	return in.leave(ReasonTopologyManager, "spec.kubelet.topologyManager.enabled is true, and a kubelet with the static memory manager does not start with another reservation than the one its state was made for: %s", next)
}
