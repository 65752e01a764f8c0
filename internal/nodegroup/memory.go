package nodegroup

import (
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
	m := Memory{Mode: s.Mode}
	fresh, _, doubt := controllerFresh(in, now)
	platform, err := reservation.NewPlatform(reservation.Spec(in.Distribution.KubeletMemory))
	if err != nil {
		fresh, doubt = false, "distribution "+in.Distribution.Name+": kubeletMemory."+err.Error()
	}
	m.Certain = fresh
	if fresh && m.Mode != reservation.ModeOff && m.Said() {
		m.Result = reservation.Compute(platform, s, reservation.NodesOf(members))
	}
	m.Decision = in.decide(reservation.Input{Settings: s, Platform: platform, NodeGroup: in.Platform.NodeGroup, Result: m.Result}, fresh, doubt)
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
		return leave(condition.GroupMemoryNoNodeGroup, "there is no NodeGroup to write into: `gpu-dra kubelet-config --node-group "+in.Group.Name+
			"` prints what to configure; "+core.Result.Why())
	}
	return reservation.Decide(core)
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
func (m Memory) condition(in Input) metav1.Condition {
	status := yes
	switch r := m.Result; {
	case r.Largest == nil || r.Applied == nil:
		status = unknown
	case r.Short != nil:
		status = no
	}
	return condition.New(condition.MemoryReserved, status, m.Decision.Reason, m.Decision.Message)
}
