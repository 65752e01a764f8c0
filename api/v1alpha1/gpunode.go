package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GPUNode is what one node really has: its accelerators as DRA drivers published them, the pools they stand in, what
// runs there and who else manages it. The controller is its only writer. Named as the Node, which owns it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=gn,categories=gpu-dra
// +kubebuilder:printcolumn:name="Group",type=string,JSONPath=`.status.summary.groups`
// +kubebuilder:printcolumn:name="Drivers",type=string,JSONPath=`.status.summary.drivers`
// +kubebuilder:printcolumn:name="Devices",type=string,JSONPath=`.status.summary.devices`
// +kubebuilder:printcolumn:name="Allocated",type=string,JSONPath=`.status.summary.allocated`
// +kubebuilder:printcolumn:name="CDI",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="RuntimeReady")].status`
// +kubebuilder:printcolumn:name="Registered",type=string,JSONPath=`.status.conditions[?(@.type=="Registered")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Registered")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GPUNode struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Status GPUNodeStatus `json:"status,omitempty"`
}

// GPUNodeStatus holds the facts of one node.
type GPUNodeStatus struct {
	// Groups are the listed node groups this node belongs to, sorted. Two or more are a condition (GroupsDistinct).
	// +optional
	// +listType=set
	Groups []string `json:"groups,omitempty"`
	// Passive is true when another manager is to own the node's accelerators: by the node label or the group's setting.
	// +optional
	Passive bool `json:"passive,omitempty"`
	// Terminating is true when the Node is being deleted or carries a to-be-deleted taint.
	// +optional
	Terminating bool `json:"terminating,omitempty"`
	// Memory of the node, from Node status.
	// +optional
	Memory *NodeMemory `json:"memory,omitempty"`
	// Runtime is what runs on the node.
	// +optional
	Runtime *NodeRuntime `json:"runtime,omitempty"`
	// Drivers, one entry for each DRA driver that is expected or has published here, sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Drivers []NodeDriver `json:"drivers,omitempty"`
	// Devices groups like devices, sorted by driver, kind, product, memory.
	// +optional
	// +listType=atomic
	Devices []DeviceGroup `json:"devices,omitempty"`
	// PluginResources are extended resources of device plugins with a non-zero amount in the Node's allocatable.
	// +optional
	// +listType=map
	// +listMapKey=name
	PluginResources []PluginResource `json:"pluginResources,omitempty"`
	// Managers are other managers of accelerators that the node shows traces of.
	// +optional
	// +listType=atomic
	Managers []Manager `json:"managers,omitempty"`
	// Summary holds the texts of the printed columns.
	// +optional
	Summary NodeSummary `json:"summary,omitempty"`
	// Conditions: Registered, SoleManager, RuntimeReady, GroupsDistinct, DevicesHealthy.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// Cards is the largest number of physical cards seen on the node: the high-water marks of all its accelerator drivers.
func (s *GPUNodeStatus) Cards() int64 {
	var cards int64
	for i := range s.Drivers {
		if s.Drivers[i].Accelerator {
			cards += int64(max(s.Drivers[i].HighWater, 0))
		}
	}
	return cards
}

// NodeSummary holds what `kubectl get gpunodes` prints.
type NodeSummary struct {
	// +optional
	Groups string `json:"groups,omitempty"`
	// +optional
	Drivers string `json:"drivers,omitempty"`
	// +optional
	Devices string `json:"devices,omitempty"`
	// Allocated is "held/published": devices of accelerators that ResourceClaims hold, of those that are published. Empty where
	// there are neither, and before the claims were read.
	// +optional
	Allocated string `json:"allocated,omitempty"`
}

// NodeMemory is the node's host memory in bytes.
type NodeMemory struct {
	// Capacity from Node status.capacity.
	Capacity resource.Quantity `json:"capacity"`
	// Allocatable from Node status.allocatable.
	Allocatable resource.Quantity `json:"allocatable"`
	// HugePages is the memory preallocated as huge pages of any size, which the kubelet takes from allocatable.
	// +optional
	HugePages *resource.Quantity `json:"hugePages,omitempty"`
}

// NodeRuntime is what runs on the node, from Node status.nodeInfo.
type NodeRuntime struct {
	// +optional
	KubeletVersion string `json:"kubeletVersion,omitempty"`
	// ContainerRuntime as the kubelet reports it (`containerd://2.2.0`).
	// +optional
	ContainerRuntime string `json:"containerRuntime,omitempty"`
	// CDI says whether the container runtime can inject CDI devices: True, False, or Unknown when its version says nothing.
	// +optional
	CDI metav1.ConditionStatus `json:"cdi,omitempty"`
}

// NodeDriver is one DRA driver on one node.
type NodeDriver struct {
	// Name as in ResourceSlice spec.driver.
	Name string `json:"name"`
	// Profile that describes the driver, empty when no profile knows it.
	// +optional
	Profile string `json:"profile,omitempty"`
	// Expected is true when a group of this node lists a profile with this driver.
	// +optional
	Expected bool `json:"expected,omitempty"`
	// Accelerator is false for drivers whose devices are no accelerators (ComputeDomain channels): they do not gate Registered.
	// +optional
	Accelerator bool `json:"accelerator,omitempty"`
	// Registered is true when the driver has published a complete pool of its newest generation with at least one device
	// on this node. Not debounced; the condition Registered is.
	Registered bool `json:"registered"`
	// LostSince is the time a driver that had been registered was first seen missing. Absent while it is there.
	// +optional
	LostSince *metav1.Time `json:"lostSince,omitempty"`
	// HighWater is the largest number of physical cards seen on this node since it joined. It goes down only when the node
	// leaves or the group no longer lists the driver; renders and reservations use it.
	// +optional
	HighWater int32 `json:"highWater,omitempty"`
	// Devices counts what the driver has published here now.
	Devices DeviceCounts `json:"devices"`
	// Pools of this driver with devices on this node, sorted by name.
	// +optional
	// +listType=atomic
	Pools []PoolState `json:"pools,omitempty"`
	// Pod is the driver's own pod on this node, when gpu-dra deploys it.
	// +optional
	Pod *DriverPod `json:"pod,omitempty"`
	// PodGoneSince is the time the driver's pod was first seen gone while its slices were still there. Kept for a minute.
	// +optional
	PodGoneSince *metav1.Time `json:"podGoneSince,omitempty"`
}

// DriverPod is the state of a driver's kubelet plugin pod.
type DriverPod struct {
	Name string `json:"name"`
	// Phase of the pod.
	// +optional
	Phase corev1.PodPhase `json:"phase,omitempty"`
	// Ready is the pod's Ready condition.
	Ready bool `json:"ready"`
	// Reason is the first waiting or terminated reason of a container that is not running (CrashLoopBackOff). That of an init
	// container begins with `Init:`; `Init:guard` is a pod that its guard holds back.
	// +optional
	Reason string `json:"reason,omitempty"`
	// Message is why the guard holds the pod back, at most 256 bytes.
	// +optional
	Message string `json:"message,omitempty"`
}

// PluginResource is an extended resource that a device plugin advertises.
type PluginResource struct {
	// Name, such as `nvidia.com/gpu`.
	Name string `json:"name"`
	// Allocatable is what the Node advertises; more than zero.
	Allocatable int64 `json:"allocatable"`
}

// Manager is another manager of accelerators.
type Manager struct {
	// Name, from the profile's `managers` (`gpu-operator`, `deckhouse-gpu`, `device-plugin`, `node-manager`).
	Name string `json:"name"`
	// Evidence is the label, resource or field it was seen by.
	Evidence string `json:"evidence"`
}

// GPUNodeList is a list of GPUNodes.
// +kubebuilder:object:root=true
type GPUNodeList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GPUNode `json:"items"`
}
