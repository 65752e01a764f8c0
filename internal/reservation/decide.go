package reservation

import (
	"cmp"
	"fmt"
	"strings"
)

// rewriteAbove is how much more than what we wrote the nodes must need before it is written again. Machines of one model
// differ by some MiB of memory, and a node that joins is not worth a restart of every kubelet; of the 4 GiB that daemons
// get by default, it is a sixteenth.
const rewriteAbove = 256 * mebi

// restarts is what every change of the reservation brings with it. The kubelet wipes when it starts, before any driver has
// registered (NewDRAPluginManager in pkg/kubelet/cm/dra/plugin/dra_plugin_manager.go).
const restarts = "every kubelet of the group restarts with it and wipes its node's ResourceSlices until the drivers publish them again"

// Decide says what to do with the node group. It is the same for the same input, and once its patch is applied the next
// decision is LeaveAlone. It never fights: a reservation is written over the platform's own or a smaller fixed one only, goes
// down only when the settings change, and is given up for good once somebody else changed it (AnnotationKey).
func Decide(in Input) Decision {
	if in.NodeGroup.Annotation == "" {
		return in.never()
	}
	rec, err := parseRecord(in.NodeGroup.Annotation)
	switch {
	case err != nil:
		return in.leave(ReasonBadAnnotation, "the annotation %s can't be read (%v): put %s right by hand and remove the annotation",
			AnnotationKey, err, FieldPath)
	case !rec.stands(in.NodeGroup.Reservation):
		return in.changed(rec)
	case in.Settings.Mode != ModeApply:
		return in.giveBack(rec, cmp.Or(in.Why, "mode "+in.mode()))
	}
	return in.again(rec)
}

// never decides for a node group that we did not write to.
func (in Input) never() Decision {
	switch in.Settings.Mode {
	case ModeApply:
		return in.first()
	case ModeOff:
		return in.leave(ReasonOff, "memoryReservation.mode is Off")
	}
	in.Settings.Mode = ModeApply
	d := in.first()
	then := "nothing is written in mode Advise, nor would be in mode Apply: "
	if d.Action == Write {
		then = "nothing is written in mode Advise; in mode Apply "
	}
	return in.leave(ReasonAdvise, "%s%s", then, strings.TrimPrefix(d.Message, in.say("")))
}

// first decides whether to write to a node group for the first time.
func (in Input) first() Decision {
	r := in.Result
	switch {
	case in.Refusal != nil:
		return in.leave(in.Refusal.Reason, "%s", in.Refusal.Message)
	case in.NodeGroup.TopologyManager:
		return in.topologyManager("write " + FieldPath + ".static there by hand, while the nodes are drained")
	}
	now, err := read(in.NodeGroup.Reservation)
	switch {
	case err != nil:
		return in.leave(ReasonUnreadable, "%v", err)
	case now.mode == reservationOff:
		return in.leave(ReasonReservationOff, "%s.mode is Off, and stays so: set it to Auto to let gpu-dra reserve memory", FieldPath)
	case r.Largest == nil:
		return in.leave(ReasonFactsUnknown, "%s", r.Why())
	case !r.Upward && now.mode == reservationStatic && r.Largest.Platform-now.memory > rewriteAbove:
		return in.leave(ReasonBelowPlatform, "%s.static.memory is %s, less than the %s that Auto reserves on node %s: set %s.mode to Auto, or %s.static.memory to as much",
			FieldPath, inMi(now.memory), inMi(r.Largest.Platform), r.Largest.Node, FieldPath, FieldPath)
	case !r.Upward:
		return in.leave(ReasonPlatformSuffices, "%s", r.Why())
	}
	target := r.Largest.Recommended
	switch {
	case now.mode == reservationStatic && now.memory >= target:
		return in.leave(ReasonLargerFound, "%s.static.memory is %s, and %s are recommended: it stays as it is", FieldPath, inMi(now.memory), inMi(target))
	}
	if d, refused := in.bounds(target); refused {
		return d
	}
	if f := r.MostApplied; f != nil && f.Bytes > target {
		return in.leave(ReasonLargerFound, "the kubelet of node %s already reserves %s, more than the recommended %s: see what configures it there",
			f.Node, inMi(f.Bytes), inMi(target))
	}
	return in.write(in.newRecord(now, target), target)
}

// again decides for a node group in which what we wrote stands.
func (in Input) again(rec record) Decision {
	r, own := in.Result, rec.memory()
	sameSettings := rec.Figures == figures(in.Settings)
	switch {
	case in.Refusal != nil:
		return in.leave(in.Refusal.Reason, "%s of memory stay reserved: %s", inMi(own), in.Refusal.Message)
	case r.Largest != nil && sameSettings && r.Largest.Recommended == own:
		return in.leave(ReasonApplied, "%s of memory are reserved: %s%s", inMi(own), r.Why(), in.mind(own))
	case in.NodeGroup.TopologyManager:
		return in.topologyManager("what gpu-dra wrote stays as it is")
	case r.Largest == nil:
		return in.leave(ReasonFactsUnknown, "%s of memory stay reserved: %s", inMi(own), r.Why())
	}
	target := r.Largest.Recommended
	before, _ := read(rec.Before)
	suffices := !r.Upward || before.mode == reservationStatic && before.memory >= target
	switch {
	case sameSettings && target <= own+rewriteAbove:
		return in.leave(ReasonKept, "%s of memory stay reserved, and %s are recommended: not worth a restart of every kubelet while the settings are the same%s",
			inMi(own), inMi(target), in.mind(own))
	case !sameSettings && suffices:
		return in.giveBack(rec, "with the present settings it is enough")
	}
	// Less than what stands is no risk to any node, and what a person asked for.
	if target > own {
		if d, refused := in.bounds(target); refused {
			return d
		}
	}
	next := rec
	next.Written = rec.over(nil)
	next.Written[keyStatic].(map[string]any)[keyMemory] = Quantity(target).String()
	next.Figures = figures(in.Settings)
	return in.write(next, target)
}

// changed decides for a node group in which somebody changed what we wrote.
func (in Input) changed(rec record) Decision {
	if in.Settings.Mode != ModeApply {
		return Decision{Action: Forget, Reason: ReasonChangedByOthers,
			Message: in.say("%s was changed after gpu-dra wrote it, and stays as it is", FieldPath)}
	}
	return in.leave(ReasonChangedByOthers, "gpu-dra wrote %s into %s, and somebody changed it to %s: it stays so; remove the annotation %s to let gpu-dra write again",
		show(rec.Written), FieldPath, show(in.NodeGroup.Reservation), AnnotationKey)
}

func (in Input) giveBack(rec record, why string) Decision {
	if in.NodeGroup.TopologyManager {
		return in.topologyManager("what stood before is in the annotation " + AnnotationKey + ": put it back by hand, while the nodes are drained")
	}
	return Decision{Action: Restore, Reason: ReasonRestoring, Reservation: rec.restored(in.NodeGroup.Reservation),
		Message: in.say("%s goes back to %s, as it was before gpu-dra wrote it (%s); %s", FieldPath, show(rec.Before), why, restarts)}
}

func (in Input) mode() string {
	if in.Settings.Mode == ModeOff {
		return ModeOff
	}
	return ModeAdvise
}

func (in Input) leave(reason, format string, args ...any) Decision {
	return Decision{Action: LeaveAlone, Reason: reason, Message: in.say(format, args...)}
}

func (in Input) say(format string, args ...any) string {
	return "NodeGroup " + in.NodeGroup.Name + ": " + fmt.Sprintf(format, args...)
}
