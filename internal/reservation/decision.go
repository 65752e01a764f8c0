package reservation

import "github.com/gpu-dra/gpu-dra/internal/settings"

// Action is what to do with a node group.
type Action string

// Actions. Write, Restore and Forget are one patch each (Decision.Patch).
const (
	// LeaveAlone: nothing is written.
	LeaveAlone Action = "LeaveAlone"
	// Write: the reservation is written, and the annotation that remembers what stood before.
	Write Action = "Write"
	// Restore: what stood before is put back, and the annotation goes.
	Restore Action = "Restore"
	// Forget: the annotation goes, because what stands is somebody else's and there is nothing to put back.
	Forget Action = "Forget"
)

// Reasons of a Decision.
const (
	// ReasonOff and ReasonAdvise: the mode writes nothing.
	ReasonOff    = "ModeOff"
	ReasonAdvise = "ModeAdvise"
	// ReasonApplying: the recommendation is written now.
	ReasonApplying = "Applying"
	// ReasonApplied: it stands.
	ReasonApplied = "Applied"
	// ReasonKept: what was written stays, although the nodes now need less or hardly more.
	ReasonKept = "Kept"
	// ReasonRestoring: what stood before comes back.
	ReasonRestoring = "Restoring"
	// ReasonPlatformSuffices: no node needs more than the platform reserves by itself.
	ReasonPlatformSuffices = "PlatformSuffices"
	// ReasonReservationOff: somebody switched reservation off in the node group.
	ReasonReservationOff = "ReservationOff"
	// ReasonLargerFound: somebody already reserves as much or more, in the node group or on a node.
	ReasonLargerFound = "LargerReservation"
	// ReasonTopologyManager: kubelets with the static memory manager do not start with another reservation.
	ReasonTopologyManager = "TopologyManager"
	// ReasonNodesDiffer: one figure does not fit all nodes of the group.
	ReasonNodesDiffer = "NodesDiffer"
	// ReasonTooLarge: it would take too much of the smallest node.
	ReasonTooLarge = "TooLarge"
	// ReasonFactsUnknown: memory or cards of the nodes are not known.
	ReasonFactsUnknown = "FactsUnknown"
	// ReasonChangedByOthers: somebody changed what we wrote.
	ReasonChangedByOthers = "ChangedByOthers"
	// ReasonBadAnnotation: the annotation can't be read.
	ReasonBadAnnotation = "BadAnnotation"
	// ReasonBelowPlatform: somebody wrote less into the node group than the platform reserves by itself.
	ReasonBelowPlatform = "BelowPlatform"
	// ReasonPartOfNodeGroup: not all nodes of the node group are known.
	ReasonPartOfNodeGroup = "PartOfNodeGroup"
	// ReasonUnreadable: the node group's reservation can't be read.
	ReasonUnreadable = "UnreadableReservation"
)

// Input of Decide.
type Input struct {
	// Settings of the group, with the group's overrides (Effective).
	Settings settings.MemoryReservation
	Platform Platform
	// NodeGroup as it was read.
	NodeGroup NodeGroup
	// Result of Compute. In modes that write nothing it only fills the message.
	Result Result
	// Refusal of every write, nil where nothing but the facts decides. To give back what was written is not refused.
	Refusal *Refusal
	// Why what was written is given back, where it is not the mode of the settings.
	Why string
}

// Refusal is why nothing may be written into a node group, whatever its nodes need.
type Refusal struct {
	// Reason is one of the Reasons.
	Reason string
	// Message says what is in the way and what to do about it.
	Message string
}

// Decision is what to do with a node group, and why.
type Decision struct {
	Action Action
	// Reason is one of the Reasons.
	Reason string
	// Message names the node group, what was found and what to do about it. Of a Write that changes the reservation and of a
	// Restore it says what comes with it, so that it can be shown before the patch is sent.
	Message string
	// Reservation is what spec.kubelet.resourceReservation becomes with Write and Restore, nil: it goes away.
	Reservation map[string]any
	// Annotation is the annotation's new value with Write; with Restore and Forget it goes away.
	Annotation string
}
