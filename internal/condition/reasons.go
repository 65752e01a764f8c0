// Package condition holds every condition type and reason that gpu-dra writes, and sets conditions so that
// lastTransitionTime moves only when a status does. docs/conditions.md explains each reason and what to do next; a test
// keeps the two together.
package condition

// Entry is one reason of one condition of one kind.
type Entry struct {
	// Kind of the object that carries the condition.
	Kind string
	// Type of the condition.
	Type string
	// Reason as it stands in the condition.
	Reason string
}

var all []Entry

// Reasons returns every reason that the code can write, in the order of declaration.
func Reasons() []Entry { return append([]Entry(nil), all...) }

func reason(kind, conditionType, r string) string {
	all = append(all, Entry{Kind: kind, Type: conditionType, Reason: r})
	return r
}

// Kinds that carry conditions.
const (
	kindNode     = "GPUNode"
	kindGroup    = "GPUNodeGroup"
	kindStack    = "GPUStack"
	kindTemplate = "GPUClaimTemplate"
)

// Condition types.
const (
	// Registered, on a GPUNode: has every accelerator driver of its groups published a complete pool here (debounced).
	Registered = "Registered"
	// SoleManager, on a GPUNode, a GPUNodeGroup and the GPUStack: does nobody else hand out these accelerators.
	SoleManager = "SoleManager"
	// RuntimeReady, on a GPUNode and a GPUNodeGroup: can the container runtime inject CDI devices.
	RuntimeReady = "RuntimeReady"
	// GroupsDistinct, on a GPUNode and a GPUNodeGroup: do no two groups run one driver on one node.
	GroupsDistinct = "GroupsDistinct"
	// DevicesHealthy, on a GPUNode and a GPUNodeGroup: is every published device usable as published.
	DevicesHealthy = "DevicesHealthy"
	// Ready, on a GPUNodeGroup and a GPUClaimTemplate: does it give users what the settings promise.
	Ready = "Ready"
	// NodeGroupFound, on a GPUNodeGroup under hooks: is there a Deckhouse NodeGroup of that name.
	NodeGroupFound = "NodeGroupFound"
	// DevicesExpected, on a GPUNodeGroup: does each node show as many cards as `expectedDevices` says.
	DevicesExpected = "DevicesExpected"
	// MemoryReserved, on a GPUNodeGroup: do its kubelets keep the recommended memory from pods.
	MemoryReserved = "MemoryReserved"
	// ControllerSynced, on the GPUStack: has the controller read the whole cluster with the present settings.
	ControllerSynced = "ControllerSynced"
	// FeatureGatesConsistent, on the GPUStack: are the needed Kubernetes gates on in every component that reads them.
	FeatureGatesConsistent = "FeatureGatesConsistent"
	// NodeGroupsListed, on the GPUStack: do the settings list every group that has accelerators.
	NodeGroupsListed = "NodeGroupsListed"
	// DriversKnown, on the GPUStack: does a profile describe every driver that published slices.
	DriversKnown = "DriversKnown"
	// DeviceClassesOwned, on the GPUStack: are the DeviceClasses of known profiles ours.
	DeviceClassesOwned = "DeviceClassesOwned"
	// SettingsAccepted, on the GPUStack: can the controller act on every part of the settings.
	SettingsAccepted = "SettingsAccepted"
	// Satisfiable, on a GPUClaimTemplate: can a device of the kind it asks for exist.
	Satisfiable = "Satisfiable"
)

// Reasons on GPUNode.
var (
	NodeRegistered          = reason(kindNode, Registered, "Registered")
	NodeNoDriverExpected    = reason(kindNode, Registered, "NoDriverExpected")
	NodeNotPublished        = reason(kindNode, Registered, "NotPublished")
	NodePoolIncomplete      = reason(kindNode, Registered, "PoolIncomplete")
	NodeNoDevices           = reason(kindNode, Registered, "NoDevices")
	NodeDriverLost          = reason(kindNode, Registered, "DriverLost")
	NodeWaitingAfterLoss    = reason(kindNode, Registered, "WaitingAfterLoss")
	NodeNoDriverPod         = reason(kindNode, Registered, "NoDriverPod")
	NodeDriverPodNotReady   = reason(kindNode, Registered, "DriverPodNotReady")
	NodeSoleManager         = reason(kindNode, SoleManager, "SoleManager")
	NodeDevicePlugin        = reason(kindNode, SoleManager, "DevicePluginActive")
	NodeOtherManager        = reason(kindNode, SoleManager, "OtherManager")
	NodeForeignDriver       = reason(kindNode, SoleManager, "ForeignDriver")
	NodeCDISupported        = reason(kindNode, RuntimeReady, "CDISupported")
	NodeCDIUnsupported      = reason(kindNode, RuntimeReady, "CDIUnsupported")
	NodeCDIOffByDefault     = reason(kindNode, RuntimeReady, "CDIOffByDefault")
	NodeRuntimeUnknown      = reason(kindNode, RuntimeReady, "RuntimeUnknown")
	NodeGroupsDistinct      = reason(kindNode, GroupsDistinct, "Distinct")
	NodeGroupsOverlap       = reason(kindNode, GroupsDistinct, "OverlappingNodeGroups")
	NodeDevicesHealthy      = reason(kindNode, DevicesHealthy, "Healthy")
	NodeDevicesTainted      = reason(kindNode, DevicesHealthy, "DevicesTainted")
	NodePublishedTwice      = reason(kindNode, DevicesHealthy, "CardPublishedTwice")
	NodeStaleSlices         = reason(kindNode, DevicesHealthy, "StaleSlices")
	NodeUnrecognizedTypes   = reason(kindNode, DevicesHealthy, "UnrecognizedDeviceType")
	NodePartitioningDiffers = reason(kindNode, DevicesHealthy, "PartitioningDiffers")
)

// Reasons on GPUNodeGroup.
var (
	GroupReady               = reason(kindGroup, Ready, "AllNodesRegistered")
	GroupNoNodes             = reason(kindGroup, Ready, "NoNodesExpected")
	GroupNodesMissing        = reason(kindGroup, Ready, "NodesNotRegistered")
	GroupControllerNotSynced = reason(kindGroup, Ready, "ControllerNotSynced")
	GroupControllerStale     = reason(kindGroup, Ready, "ControllerStale")
	GroupSettingsNotSeen     = reason(kindGroup, Ready, "SettingsNotSeen")
	GroupDriverUnknown       = reason(kindGroup, Ready, "UnknownDriverProfile")
	GroupNoSelector          = reason(kindGroup, Ready, "NoNodeSelector")
	GroupNodeGroupMissing    = reason(kindGroup, Ready, "NodeGroupNotFound")
	GroupKubeletRoot         = reason(kindGroup, Ready, "UnusableKubeletRoot")
	GroupFound               = reason(kindGroup, NodeGroupFound, "Found")
	GroupNotFound            = reason(kindGroup, NodeGroupFound, "NotFound")
	GroupKindAbsent          = reason(kindGroup, NodeGroupFound, "NodeGroupKindAbsent")
	GroupUnreadable          = reason(kindGroup, NodeGroupFound, "Unreadable")
	GroupDevicesAsExpected   = reason(kindGroup, DevicesExpected, "AsExpected")
	GroupDevicesFewer        = reason(kindGroup, DevicesExpected, "FewerDevices")
	GroupDevicesNotSaid      = reason(kindGroup, DevicesExpected, "NotSaid")
	GroupSoleManager         = reason(kindGroup, SoleManager, "SoleManager")
	GroupOtherManager        = reason(kindGroup, SoleManager, "OtherManager")
	GroupDistinct            = reason(kindGroup, GroupsDistinct, "Distinct")
	GroupOverlap             = reason(kindGroup, GroupsDistinct, "OverlappingNodeGroups")
	GroupDevicesHealthy      = reason(kindGroup, DevicesHealthy, "Healthy")
	GroupDevicesUnhealthy    = reason(kindGroup, DevicesHealthy, "SeeNodes")
	GroupCDISupported        = reason(kindGroup, RuntimeReady, "CDISupported")
	GroupCDIUnsupported      = reason(kindGroup, RuntimeReady, "CDIUnsupported")
	GroupCDIOffByDefault     = reason(kindGroup, RuntimeReady, "CDIOffByDefault")
	GroupRuntimeUnknown      = reason(kindGroup, RuntimeReady, "RuntimeUnknown")

	// Those of package reservation, which a test compares, and two for what it does not know.
	GroupMemoryOff             = reason(kindGroup, MemoryReserved, "ModeOff")
	GroupMemoryAdvise          = reason(kindGroup, MemoryReserved, "ModeAdvise")
	GroupMemoryNoNodeGroup     = reason(kindGroup, MemoryReserved, "NoNodeGroup")
	GroupMemoryNoHooks         = reason(kindGroup, MemoryReserved, "NoHooks")
	GroupMemoryApplying        = reason(kindGroup, MemoryReserved, "Applying")
	GroupMemoryApplied         = reason(kindGroup, MemoryReserved, "Applied")
	GroupMemoryKept            = reason(kindGroup, MemoryReserved, "Kept")
	GroupMemoryRestoring       = reason(kindGroup, MemoryReserved, "Restoring")
	GroupMemorySuffices        = reason(kindGroup, MemoryReserved, "PlatformSuffices")
	GroupMemoryBelow           = reason(kindGroup, MemoryReserved, "BelowPlatform")
	GroupMemoryReservationOff  = reason(kindGroup, MemoryReserved, "ReservationOff")
	GroupMemoryLarger          = reason(kindGroup, MemoryReserved, "LargerReservation")
	GroupMemoryTopologyManager = reason(kindGroup, MemoryReserved, "TopologyManager")
	GroupMemoryPart            = reason(kindGroup, MemoryReserved, "PartOfNodeGroup")
	GroupMemoryNodesDiffer     = reason(kindGroup, MemoryReserved, "NodesDiffer")
	GroupMemoryTooLarge        = reason(kindGroup, MemoryReserved, "TooLarge")
	GroupMemoryUnknown         = reason(kindGroup, MemoryReserved, "FactsUnknown")
	GroupMemoryChanged         = reason(kindGroup, MemoryReserved, "ChangedByOthers")
	GroupMemoryBadAnnotation   = reason(kindGroup, MemoryReserved, "BadAnnotation")
	GroupMemoryUnreadable      = reason(kindGroup, MemoryReserved, "UnreadableReservation")
)

// Reasons on GPUStack.
var (
	StackSynced            = reason(kindStack, ControllerSynced, "Synced")
	StackNotSynced         = reason(kindStack, ControllerSynced, "ReadingCluster")
	StackFactsUnreadable   = reason(kindStack, ControllerSynced, "FactsUnreadable")
	StackGatesOn           = reason(kindStack, FeatureGatesConsistent, "AllOn")
	StackGatesOff          = reason(kindStack, FeatureGatesConsistent, "NeededGateOff")
	StackGatesConflict     = reason(kindStack, FeatureGatesConsistent, "SetTwice")
	StackGatesUnknown      = reason(kindStack, FeatureGatesConsistent, "FlagsUnreadable")
	StackGatesUnknownName  = reason(kindStack, FeatureGatesConsistent, "UnknownGate")
	StackGatesMetrics      = reason(kindStack, FeatureGatesConsistent, "MetricsDiffer")
	StackSoleManager       = reason(kindStack, SoleManager, "SoleManager")
	StackOtherManager      = reason(kindStack, SoleManager, "OtherManager")
	StackManagersUnknown   = reason(kindStack, SoleManager, "Unreadable")
	StackGroupsListed      = reason(kindStack, NodeGroupsListed, "AllListed")
	StackUnmanagedGroup    = reason(kindStack, NodeGroupsListed, "UnmanagedGroup")
	StackGroupsUnknown     = reason(kindStack, NodeGroupsListed, "Unreadable")
	StackDriversKnown      = reason(kindStack, DriversKnown, "AllKnown")
	StackUnknownDriver     = reason(kindStack, DriversKnown, "UnknownDriver")
	StackDriversUnknown    = reason(kindStack, DriversKnown, "Unreadable")
	StackClassesOwned      = reason(kindStack, DeviceClassesOwned, "Owned")
	StackForeignClass      = reason(kindStack, DeviceClassesOwned, "ForeignDeviceClass")
	StackClassesUnknown    = reason(kindStack, DeviceClassesOwned, "Unreadable")
	StackSettingsAccepted  = reason(kindStack, SettingsAccepted, "Accepted")
	StackSettingsProblem   = reason(kindStack, SettingsAccepted, "PartlyAccepted")
	StackSettingsUnreadble = reason(kindStack, SettingsAccepted, "Unreadable")
)

// Reasons on GPUClaimTemplate.
var (
	TemplateWritten         = reason(kindTemplate, Ready, "Written")
	TemplateWaiting         = reason(kindTemplate, Ready, "WaitingForNamespaces")
	TemplateNoNamespace     = reason(kindTemplate, Ready, "NoNamespaceSelected")
	TemplateInvalid         = reason(kindTemplate, Ready, "InvalidSpec")
	TemplateUnknownDriver   = reason(kindTemplate, Ready, "UnknownDriverProfile")
	TemplateUnsupported     = reason(kindTemplate, Ready, "UnsupportedByDriver")
	TemplateCELError        = reason(kindTemplate, Ready, "CELError")
	TemplateRejected        = reason(kindTemplate, Ready, "RejectedByAPIServer")
	TemplateNameTaken       = reason(kindTemplate, Ready, "NameTaken")
	TemplateWriteFailed     = reason(kindTemplate, Ready, "WriteFailed")
	TemplateSatisfiable     = reason(kindTemplate, Satisfiable, "DevicesExist")
	TemplateNoDevice        = reason(kindTemplate, Satisfiable, "NoDeviceMatches")
	TemplateNominalMemory   = reason(kindTemplate, Satisfiable, "NominalMemory")
	TemplateClassMissing    = reason(kindTemplate, Satisfiable, "DeviceClassMissing")
	TemplateSharingOff      = reason(kindTemplate, Satisfiable, "SharingGateOff")
	TemplateNoDevicesYet    = reason(kindTemplate, Satisfiable, "NoDevicesYet")
	TemplateDevicesNotKnown = reason(kindTemplate, Satisfiable, "NotKnown")
)
