package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// HeartbeatInterval is how often the controller renews status.heartbeat.
	HeartbeatInterval = 30 * time.Second
	// HeartbeatStaleAfter is the age of a heartbeat from which on the controller counts as not running.
	HeartbeatStaleAfter = 4 * HeartbeatInterval
)

// GPUStack `main` is the one place to look at the cluster as a whole: versions, feature gates, shared pools, who else
// manages accelerators, and whether the controller is alive and has seen the settings. The controller is its only writer.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,singular=gpustack,path=gpustacks,shortName=gst,categories=gpu-dra
// +kubebuilder:printcolumn:name="Kubernetes",type=string,JSONPath=`.status.kubernetesVersion`
// +kubebuilder:printcolumn:name="Drivers",type=string,JSONPath=`.status.summary.drivers`
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.status.summary.nodes`
// +kubebuilder:printcolumn:name="Devices",type=string,JSONPath=`.status.summary.devices`
// +kubebuilder:printcolumn:name="Gates",type=string,JSONPath=`.status.conditions[?(@.type=="FeatureGatesConsistent")].status`
// +kubebuilder:printcolumn:name="Sole-Manager",type=string,JSONPath=`.status.conditions[?(@.type=="SoleManager")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="self.metadata.name == 'main'",message="there is one GPUStack and its name is main"
type GPUStack struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Status GPUStackStatus `json:"status,omitempty"`
}

// GPUStackStatus holds the facts of the cluster.
type GPUStackStatus struct {
	// SettingsHash is the hash of the settings that the controller runs with.
	// +optional
	SettingsHash string `json:"settingsHash,omitempty"`
	// Synced is true once the controller's caches were filled and every GPUNode was written at least once.
	// +optional
	Synced bool `json:"synced,omitempty"`
	// Heartbeat is renewed by the controller every 30 seconds; older than two minutes means it is not running.
	// +optional
	Heartbeat *metav1.Time `json:"heartbeat,omitempty"`
	// ControllerVersion is the version of the controller that wrote this.
	// +optional
	ControllerVersion string `json:"controllerVersion,omitempty"`
	// KubernetesVersion of the API server (`v1.34.4`).
	// +optional
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// KubeletVersions seen on nodes of listed groups, with the number of nodes, sorted.
	// +optional
	// +listType=map
	// +listMapKey=version
	KubeletVersions []VersionCount `json:"kubeletVersions,omitempty"`
	// ResourceAPIs are the served versions of resource.k8s.io, sorted.
	// +optional
	// +listType=set
	ResourceAPIs []string `json:"resourceAPIs,omitempty"`
	// +optional
	FeatureGates FeatureGates `json:"featureGates,omitempty"`
	// SharedPools are pools with allNodes or nodeSelector: counted once here, they register no node.
	// +optional
	// +listType=atomic
	SharedPools []SharedPool `json:"sharedPools,omitempty"`
	// Conflicts are other managers of accelerators, cluster-wide or on nodes of listed groups.
	// +optional
	// +listType=atomic
	Conflicts []Conflict `json:"conflicts,omitempty"`
	// Unmanaged are groups of nodes with slices of known drivers that the settings do not list.
	// +optional
	// +listType=atomic
	Unmanaged []UnmanagedGroup `json:"unmanaged,omitempty"`
	// UnknownDrivers are drivers with slices that no profile describes, sorted.
	// +optional
	// +listType=set
	UnknownDrivers []string `json:"unknownDrivers,omitempty"`
	// ForeignDeviceClasses are classes of known profiles that somebody else created, sorted.
	// +optional
	// +listType=set
	ForeignDeviceClasses []string `json:"foreignDeviceClasses,omitempty"`
	// Summary holds the texts of the printed columns.
	// +optional
	Summary StackSummary `json:"summary,omitempty"`
	// Conditions: ControllerSynced, FeatureGatesConsistent, SoleManager, NodeGroupsListed, DriversKnown, DeviceClassesOwned,
	// SettingsAccepted.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// StackSummary holds what `kubectl get gpustack` prints.
type StackSummary struct {
	// +optional
	Drivers string `json:"drivers,omitempty"`
	// Nodes is "registered/expected" over all listed groups.
	// +optional
	Nodes string `json:"nodes,omitempty"`
	// +optional
	Devices string `json:"devices,omitempty"`
}

// VersionCount is a version and how many nodes run it.
type VersionCount struct {
	Version string `json:"version"`
	Count   int32  `json:"count"`
}

// FeatureGates is what is known of Kubernetes feature gates.
type FeatureGates struct {
	// Distribution whose rules of feature gates hold, as in the setting `distribution`.
	// +optional
	Distribution string `json:"distribution,omitempty"`
	// Needed gates: by whom, whether they are on, and what is to be done in each component.
	// +optional
	// +listType=map
	// +listMapKey=name
	Needed []NeededGate `json:"needed,omitempty"`
	// Instances are the components whose flags were read, sorted by component and name.
	// +optional
	// +listType=atomic
	Instances []ComponentInstance `json:"instances,omitempty"`
	// Conflicts are gates that are set twice, differently in two places, or so that a component does not start; empty where all
	// is well. One instance that is given one value more than once is no fault, and named all the same.
	// +optional
	// +listType=atomic
	Conflicts []GateConflict `json:"conflicts,omitempty"`
	// CrossCheck compares the flags of the API servers with what the one that answers says in its /metrics. It is a check of the
	// flags and changes no state by itself. Absent before it was tried.
	// +optional
	CrossCheck *GateCrossCheck `json:"crossCheck,omitempty"`
	// SliceLayout says how drivers lay their partitions out in ResourceSlices, which changed in Kubernetes 1.35. Absent before
	// the slices were read.
	// +optional
	SliceLayout *SliceLayout `json:"sliceLayout,omitempty"`
	// Upgrade is what of this configuration gets in the way of upgrades of Kubernetes, sorted by the version from which it does.
	// +optional
	// +listType=atomic
	Upgrade []UpgradeFinding `json:"upgrade,omitempty"`
	// Fragments are ready-made pieces of configuration for what is to be done.
	// +optional
	Fragments GateFragments `json:"fragments,omitempty"`
}

// GateCrossCheck is how the flags of API servers and their /metrics go together.
type GateCrossCheck struct {
	// State: Agrees; Differs (see the conflicts with source metrics); NotCompared (no flags of an API server of the version that
	// answers are known); Unreadable.
	// +kubebuilder:validation:Enum=Agrees;Differs;NotCompared;Unreadable
	State string `json:"state"`
	// Message says why it is NotCompared or Unreadable.
	// +optional
	Message string `json:"message,omitempty"`
}

// SliceLayout is how drivers lay their partitions out.
type SliceLayout struct {
	// InlineCounters are drivers with slices that hold counters beside devices, as up to Kubernetes 1.34, sorted. 1.35 refuses
	// such slices.
	// +optional
	// +listType=set
	InlineCounters []string `json:"inlineCounters,omitempty"`
}

// NeededGate is a Kubernetes feature gate that the settings need.
type NeededGate struct {
	Name string `json:"name"`
	// NeededBy lists settings paths or profiles, and of a gate that another one depends on the needed one, sorted.
	// +optional
	// +listType=set
	NeededBy []string `json:"neededBy,omitempty"`
	// Components that read the gate: kube-apiserver, kube-scheduler, kube-controller-manager, kubelet.
	// +optional
	// +listType=set
	Components []string `json:"components,omitempty"`
	// State is True when on in every instance of every component that reads it, False when off in one, Unknown otherwise.
	State metav1.ConditionStatus `json:"state"`
	// Effective is what gpu-dra goes by: State, or where that is Unknown what was known last, as long as nothing shows otherwise.
	// +optional
	Effective metav1.ConditionStatus `json:"effective,omitempty"`
	// Message says where it is off or unknown.
	// +optional
	Message string `json:"message,omitempty"`
	// Actions are what is to be done for it, by component and version; empty where nothing is or nobody needs it.
	// +optional
	// +listType=atomic
	Actions []GateAction `json:"actions,omitempty"`
}

// GateAction is what one component of one version needs for a gate.
type GateAction struct {
	// Component: kube-apiserver, kube-scheduler, kube-controller-manager or kubelet.
	Component string `json:"component"`
	// Version of the component, empty when it is not known.
	// +optional
	Version string `json:"version,omitempty"`
	// Instances that it is about, sorted; empty for kubelets, whose configuration the controller does not read.
	// +optional
	// +listType=set
	Instances []string `json:"instances,omitempty"`
	// Nodes is the number of kubelets that it is about.
	// +optional
	Nodes int32 `json:"nodes,omitempty"`
	// Action: SetGate (set it to true), ServeAPI (switch an API version on), RemoveGate (take it out of the flags),
	// UpgradeKubernetes (this version does not have it yet), Look (it can't be seen), NotPossible (no flag helps).
	// +kubebuilder:validation:Enum=SetGate;ServeAPI;RemoveGate;UpgradeKubernetes;Look;NotPossible
	Action string `json:"action"`
	// Also are gates that it depends on and that are to be set to true in the same place, sorted.
	// +optional
	// +listType=set
	Also []string `json:"also,omitempty"`
	// RuntimeConfig are API versions, or single resources, that --runtime-config of kube-apiserver has to switch on for it, sorted.
	// +optional
	// +listType=set
	RuntimeConfig []string `json:"runtimeConfig,omitempty"`
	// Message says how the gate stands there, and on a platform that writes the flags itself what is left to do.
	// +optional
	Message string `json:"message,omitempty"`
}

// ComponentInstance is one running component whose gates were read.
type ComponentInstance struct {
	// Component: kube-apiserver, kube-scheduler, kube-controller-manager or kubelet.
	Component string `json:"component"`
	// Name of the pod or the node.
	Name string `json:"name"`
	// Version, empty when it could not be read.
	// +optional
	Version string `json:"version,omitempty"`
	// Set holds the gates that its flags set, of those gpu-dra has in its table.
	// +optional
	Set map[string]bool `json:"set,omitempty"`
	// RuntimeConfig holds the entries of --runtime-config that gates depend on.
	// +optional
	RuntimeConfig map[string]bool `json:"runtimeConfig,omitempty"`
	// EmulatedVersion of --emulated-version (`1.36`), whose defaults hold; empty without it.
	// +optional
	EmulatedVersion string `json:"emulatedVersion,omitempty"`
	// ConfigFile is a file named in its flags that may set gates as well and can't be read; empty: none.
	// +optional
	ConfigFile string `json:"configFile,omitempty"`
	// Unreadable says why its flags could not be read, empty when they were.
	// +optional
	Unreadable string `json:"unreadable,omitempty"`
	// Remembered is true where the flags, which can't be read now, are those that were last read.
	// +optional
	Remembered bool `json:"remembered,omitempty"`
}

// GateConflict is something about a gate, as it is set, that is wrong or will be.
type GateConflict struct {
	Gate string `json:"gate"`
	// Component that it is about; empty where it is about two of them.
	// +optional
	Component string `json:"component,omitempty"`
	// Instance (pod or node) that it is about; empty where it is about several.
	// +optional
	Instance string `json:"instance,omitempty"`
	// Source is metrics where the API server's /metrics differs from its flags; empty where the flags themselves show it.
	// +optional
	// +kubebuilder:validation:Enum=metrics
	Source string `json:"source,omitempty"`
	// Values that the gate is given, in the order in which they are given.
	// +optional
	// +listType=atomic
	Values []bool `json:"values,omitempty"`
	// Effective is the value that won, absent where places differ or the component does not start.
	// +optional
	Effective *bool `json:"effective,omitempty"`
	// Ahead is the Kubernetes version (`1.36`) from which this stops the component; empty for what is wrong now.
	// +optional
	Ahead string `json:"ahead,omitempty"`
	// Message names the places and values and says what to do.
	Message string `json:"message"`
}

// UpgradeFinding is something to know before an upgrade of Kubernetes.
type UpgradeFinding struct {
	// To is the Kubernetes version (`1.35`) from which it holds.
	To string `json:"to"`
	// Stops is true where something does not start or does not work any more, false where it is only good to know.
	// +optional
	Stops bool `json:"stops,omitempty"`
	// +optional
	Gate string `json:"gate,omitempty"`
	// +optional
	Component string `json:"component,omitempty"`
	// Instances that it is about, sorted.
	// +optional
	// +listType=set
	Instances []string `json:"instances,omitempty"`
	Message   string   `json:"message"`
}

// GateFragments are pieces of configuration that do what is to be done, to be added to what is there. They are empty where
// nothing is, and where the platform writes the flags itself.
type GateFragments struct {
	// Kubeadm is a piece of kubeadm's ClusterConfiguration.
	// +optional
	Kubeadm string `json:"kubeadm,omitempty"`
	// KubeletConfiguration is a drop-in of the kubelets' configuration.
	// +optional
	KubeletConfiguration string `json:"kubeletConfiguration,omitempty"`
}

// SharedPool is a pool whose devices are reachable from more than one node.
type SharedPool struct {
	PoolState `json:",inline"`
	// Scope: AllNodes or NodeSelector.
	// +kubebuilder:validation:Enum=AllNodes;NodeSelector
	Scope string `json:"scope"`
}

// Conflict is another manager of accelerators.
type Conflict struct {
	// Manager as in GPUNode status.managers[].name.
	Manager string `json:"manager"`
	// Evidence is the object or field it was seen by.
	Evidence string `json:"evidence"`
	// Nodes of listed groups with its traces; zero when it was seen cluster-wide only.
	// +optional
	Nodes int32 `json:"nodes,omitempty"`
}

// UnmanagedGroup is a group of nodes with slices that no entry of `nodeGroups` lists.
type UnmanagedGroup struct {
	// Name of the Deckhouse NodeGroup, or empty for nodes that belong to none.
	// +optional
	Name string `json:"name,omitempty"`
	// Nodes with slices of a known driver.
	Nodes int32 `json:"nodes"`
	// Drivers seen there, sorted.
	// +optional
	// +listType=set
	Drivers []string `json:"drivers,omitempty"`
}

// GPUStackList is a list of GPUStacks.
// +kubebuilder:object:root=true
type GPUStackList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GPUStack `json:"items"`
}
