package nodegroup

import (
	"fmt"
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
)

// Memory is what is decided on the kubelet memory of a group. The hook that writes NodeGroups and the one that tells of it in
// the GPUNodeGroup both take it from Input.Memory, so that what is done is what was said.
type Memory struct {
	// Mode of the settings for this group.
	Mode string
	// Certain is false while the facts of the nodes are in doubt. What was known before stands then.
	Certain bool
	Result  reservation.Result
	// Decision on the NodeGroup. Its Reason is also that of the condition MemoryReserved.
	Decision reservation.Decision
}

// Memory decides on the kubelet memory of the group.
func (in Input) Memory(now time.Time) Memory { return in.memory(members(in), now) }

func (in Input) memory(members []v1alpha1.GPUNode, now time.Time) Memory {
	s := reservation.Effective(in.MemoryReservation, in.Group.MemoryReservation)
	refusal := in.refusal(s.Mode)
	if s.Mode == reservation.ModeApply && !in.Hooks {
		s.Mode = reservation.ModeAdvise
	}
	m := Memory{Mode: s.Mode}
	fresh, _, doubt := controllerFresh(in, now)
	platform, err := reservation.NewPlatform(in.Distribution.KubeletMemory)
	if err != nil {
		fresh, doubt = false, "distribution "+in.Distribution.Name+": kubeletMemory."+err.Error()
	}
	m.Certain = fresh
	if fresh && m.Mode != reservation.ModeOff && m.Said() {
		m.Result = reservation.Compute(platform, s, reservation.NodesOf(members))
	}
	core := reservation.Input{Settings: s, Platform: platform, NodeGroup: in.Platform.NodeGroup, Result: m.Result, Refusal: refusal}
	m.Decision = in.decide(core, fresh, doubt)
	return m
}

// decide asks the core where there is a NodeGroup. While the facts are in doubt, nothing is decided that rests on them; to give
// back what was written needs none.
func (in Input) decide(core reservation.Input, fresh bool, doubt string) reservation.Decision {
	leave := func(reason, message string) reservation.Decision {
		return reservation.Decision{Action: reservation.LeaveAlone, Reason: reason, Message: message}
	}
	found, mode := in.Platform.Lookup == Found, core.Settings.Mode
	// In the other modes what we wrote is given back, if anything.
	factless := mode == reservation.ModeOff || mode != reservation.ModeApply && core.NodeGroup.Annotation != ""
	switch {
	case in.Platform.Lookup == Unreadable:
		return leave(condition.GroupMemoryUnreadable, "NodeGroup "+in.Group.Name+" could not be read: "+in.Platform.Message)
	case !found && mode == reservation.ModeOff:
		return leave(condition.GroupMemoryOff, "memoryReservation.mode is Off")
	case !fresh && !factless:
		return leave(condition.GroupMemoryUnknown, doubt)
	case !found:
		message := "there is no NodeGroup to write into"
		if core.Result.Largest != nil && core.Result.Largest.Recommended > 0 {
			message += ": `gpu-dra kubelet-config --node-group " + in.Group.Name + "` prints what to configure"
		}
		return leave(condition.GroupMemoryNoNodeGroup, message+"; "+core.Result.Why())
	case !in.Hooks && core.NodeGroup.Annotation != "":
		return leave(condition.GroupMemoryNoHooks, "NodeGroup "+in.Group.Name+": its annotation "+reservation.AnnotationKey+" is that of gpu-dra as a Deckhouse module, and only its hooks give back what it holds: "+
			"enable the module once with memoryReservation.mode Advise, or put back into "+reservation.FieldPath+" what the annotation holds under `before`, and remove it")
	}
	return reservation.Decide(core)
}

// refusal is why nothing may be written into the NodeGroup in the mode that the settings ask for, nil where it may. Advice is the
// same with hooks and without.
func (in Input) refusal(mode string) *reservation.Refusal {
	if mode == reservation.ModeApply && !in.Hooks {
		return &reservation.Refusal{Reason: condition.GroupMemoryNoHooks, Message: "gpu-dra is not installed as a Deckhouse module, and only the module's hooks write NodeGroups: write " + reservation.FieldPath + " by hand"}
	}
	// What is written goes to every node that the platform counts to the NodeGroup, so just these must be known.
	selector, ok := in.Group.Selector(in.Distribution)
	if ok && !maps.Equal(selector.MatchLabels, map[string]string{in.Distribution.NodeGroupLabel: in.Group.Name}) {
		return &reservation.Refusal{Reason: condition.GroupMemoryPart, Message: fmt.Sprintf("nodeGroups[name=%s].nodeSelector selects the nodes, and others of NodeGroup %s may need or have another amount: remove nodeSelector, or write %s by hand",
			in.Group.Name, in.Group.Name, reservation.FieldPath)}
	}
	return nil
}

// Said is false where the caller has no settings of memory reservation.
func (m Memory) Said() bool { return m.Mode != "" }

func (m Memory) status(prev *v1alpha1.MemoryReservation) *v1alpha1.MemoryReservation {
	switch {
	case m.Mode == reservation.ModeOff || !m.Said():
		return nil
	case !m.Certain:
		return prev
	}
	return m.Result.Status(m.Mode)
}

// condition says by its status what is measured, whoever configured it, and by its reason what gpu-dra does about it.
func (m Memory) condition() metav1.Condition {
	status, message := yes, m.Decision.Message
	switch r := m.Result; {
	case r.Short != nil:
		status = no
	case r.Largest == nil || r.Applied == nil:
		status = unknown
	case r.Unmeasured != "":
		status, message = unknown, message+"; what the kubelet of node "+r.Unmeasured+" reserves is not known"
	}
	return condition.New(condition.MemoryReserved, status, m.Decision.Reason, message)
}
