package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GPUNodeGroup is the verdict on one entry of the setting `nodeGroups`. Under hooks it is named as the Deckhouse NodeGroup,
// which owns it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=gng,categories=gpu-dra
// +kubebuilder:printcolumn:name="Drivers",type=string,JSONPath=`.status.summary.drivers`
// +kubebuilder:printcolumn:name="Nodes",type=string,JSONPath=`.status.summary.nodes`
// +kubebuilder:printcolumn:name="Devices",type=string,JSONPath=`.status.summary.devices`
// +kubebuilder:printcolumn:name="Mem-Reserved",type=string,JSONPath=`.status.memoryReservation.applied`
// +kubebuilder:printcolumn:name="CDI",type=string,JSONPath=`.status.conditions[?(@.type=="RuntimeReady")].status`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type GPUNodeGroup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// +optional
	Status GPUNodeGroupStatus `json:"status,omitempty"`
}

// GPUNodeGroupStatus is the verdict. Raw counts follow the cluster at once; Ready is debounced through its nodes.
type GPUNodeGroupStatus struct {
	// +optional
	Nodes NodeCounts `json:"nodes,omitempty"`
	// Drivers, one entry for each accelerator driver of the group, sorted by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Drivers []GroupDriver `json:"drivers,omitempty"`
	// Devices summed over the group's nodes.
	// +optional
	// +listType=atomic
	Devices []DeviceGroup `json:"devices,omitempty"`
	// DevicesPerNode is the largest high-water count of physical cards on one node, all accelerator drivers together.
	// +optional
	DevicesPerNode int32 `json:"devicesPerNode,omitempty"`
	// +optional
	MemoryReservation *MemoryReservation `json:"memoryReservation,omitempty"`
	// Summary holds the texts of the printed columns.
	// +optional
	Summary GroupSummary `json:"summary,omitempty"`
	// Conditions: Ready, and those that explain it.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// GroupSummary holds what `kubectl get gpunodegroups` prints.
type GroupSummary struct {
	// +optional
	Drivers string `json:"drivers,omitempty"`
	// Nodes is "registered/expected".
	// +optional
	Nodes string `json:"nodes,omitempty"`
	// +optional
	Devices string `json:"devices,omitempty"`
}

// NodeCounts counts the group's nodes.
type NodeCounts struct {
	// Total nodes of the group.
	Total int32 `json:"total"`
	// Expected nodes: total minus passive and terminating ones.
	Expected int32 `json:"expected"`
	// Registered is how many of the expected have Registered=True (debounced).
	Registered int32 `json:"registered"`
	// Missing names expected nodes that are not registered, the first ten by name.
	// +optional
	// +listType=map
	// +listMapKey=name
	Missing []MissingNode `json:"missing,omitempty"`
	// MissingNotShown is how many more are missing than Missing lists.
	// +optional
	MissingNotShown int32 `json:"missingNotShown,omitempty"`
}

// MissingNode is an expected node that is not registered.
type MissingNode struct {
	Name string `json:"name"`
	// Reason is the reason of the GPUNode's condition Registered.
	Reason string `json:"reason"`
}

// GroupDriver is one driver over the nodes of a group.
type GroupDriver struct {
	// Name as in ResourceSlice spec.driver.
	Name string `json:"name"`
	// Profile that describes the driver.
	// +optional
	Profile string `json:"profile,omitempty"`
	// Nodes is the number of expected nodes on which the driver is registered now (not debounced).
	Nodes int32 `json:"nodes"`
	// Devices counts what the driver has published on the group's nodes.
	Devices DeviceCounts `json:"devices"`
}

// MemoryReservation is the kubelet memory advice for the group, in bytes.
type MemoryReservation struct {
	// Mode of the settings for this group: Advise or Apply.
	// +optional
	Mode string `json:"mode,omitempty"`
	// Recommended is what the kubelets should keep from pods; absent while it is not known.
	// +optional
	Recommended *resource.Quantity `json:"recommended,omitempty"`
	// Applied is measured on the nodes: capacity - allocatable - hard eviction - huge pages; the smallest of the group.
	// +optional
	Applied *resource.Quantity `json:"applied,omitempty"`
	// HeadroomBeforeSoftEviction is what the node's own daemons may use before soft eviction starts (hard eviction, where there
	// is no soft one) when pods use all that they may; the smallest of the group. It may be negative: then pods alone bring
	// eviction about.
	// +optional
	HeadroomBeforeSoftEviction *resource.Quantity `json:"headroomBeforeSoftEviction,omitempty"`
	// Why is one sentence: how the recommendation comes about, or what is missing to give one.
	// +optional
	Why string `json:"why,omitempty"`
	// DecidedBy is the node with the largest need, which is the group's.
	// +optional
	DecidedBy string `json:"decidedBy,omitempty"`
	// Term that decided there: Platform, Devices or SystemNeed.
	// +optional
	Term string `json:"term,omitempty"`
	// Cards of that node.
	// +optional
	Cards int64 `json:"cards,omitempty"`
	// Breakdown of the recommendation, in a fixed order: the larger of Platform + Devices and SystemNeed + EvictionSoft -
	// EvictionHard decides.
	// +optional
	// +listType=map
	// +listMapKey=name
	Breakdown []MemoryTerm `json:"breakdown,omitempty"`
	// Spread of the needs of the group's nodes.
	// +optional
	Spread *MemorySpread `json:"spread,omitempty"`
}

// MemoryTerm is one term of a recommendation.
type MemoryTerm struct {
	// Name: Platform, Devices, SystemNeed, EvictionSoft or EvictionHard.
	Name string `json:"name"`
	// Value in bytes.
	Value resource.Quantity `json:"value"`
}

// MemorySpread is the smallest and the largest need of a group's nodes.
type MemorySpread struct {
	// Smallest need.
	Smallest resource.Quantity `json:"smallest"`
	// Largest need.
	Largest resource.Quantity `json:"largest"`
}

// GPUNodeGroupList is a list of GPUNodeGroups.
// +kubebuilder:object:root=true
type GPUNodeGroupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GPUNodeGroup `json:"items"`
}
