package v1alpha1

import (
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GPUClaimTemplate is what a person means by a GPU: "at least 16Gi, whole or partition, the smallest that fits, in these
// namespaces". The controller builds the ResourceClaimTemplates from it.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:resource:scope=Cluster,shortName=gct,categories=gpu-dra
// +kubebuilder:printcolumn:name="Driver",type=string,JSONPath=`.spec.driver`
// +kubebuilder:printcolumn:name="Device",type=string,JSONPath=`.spec.device`
// +kubebuilder:printcolumn:name="Min-Memory",type=string,JSONPath=`.spec.minMemory`
// +kubebuilder:printcolumn:name="Written",type=string,JSONPath=`.status.summary`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:validation:XValidation:rule="size(self.metadata.name) <= 63",message="the name becomes a label value and must have at most 63 characters"
type GPUClaimTemplate struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec GPUClaimTemplateSpec `json:"spec"`
	// +optional
	Status GPUClaimTemplateStatus `json:"status,omitempty"`
}

// DeviceChoice says which kinds of devices satisfy a template.
// +kubebuilder:validation:Enum=Any;Whole;Partition;Passthrough
type DeviceChoice string

const (
	// ChoiceAny takes a whole device or a partition.
	ChoiceAny DeviceChoice = "Any"
	// ChoiceWhole takes whole devices only.
	ChoiceWhole DeviceChoice = "Whole"
	// ChoicePartition takes partitions only.
	ChoicePartition DeviceChoice = "Partition"
	// ChoicePassthrough takes whole devices for virtual machines.
	ChoicePassthrough DeviceChoice = "Passthrough"
)

// Fit says which of several devices that satisfy a template is preferred.
// +kubebuilder:validation:Enum=Smallest;First
type Fit string

const (
	// FitSmallest prefers the device with the least memory that satisfies.
	FitSmallest Fit = "Smallest"
	// FitFirst takes what the scheduler finds first.
	FitFirst Fit = "First"
)

// SameAttribute names an attribute that all devices of a claim must share.
// +kubebuilder:validation:Enum=PCIeRoot;NUMANode
type SameAttribute string

const (
	// SamePCIeRoot asks for devices under one PCIe root complex.
	SamePCIeRoot SameAttribute = "PCIeRoot"
	// SameNUMANode asks for devices on one NUMA node.
	SameNUMANode SameAttribute = "NUMANode"
)

// GPUClaimTemplateSpec is one entry of the setting `claimTemplates` without its name.
// +kubebuilder:validation:XValidation:rule="has(self.namespaces) != has(self.namespaceSelector)",message="exactly one of namespaces and namespaceSelector is needed"
// +kubebuilder:validation:XValidation:rule="!has(self.fit) || self.fit != 'Smallest' || has(self.minMemory)",message="fit: Smallest needs minMemory, from which its memory windows start; set minMemory or fit: First"
type GPUClaimTemplateSpec struct {
	// Namespaces that get the ResourceClaimTemplate. A namespace that does not exist yet is waited for.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	Namespaces []string `json:"namespaces,omitempty"`
	// NamespaceSelector selects the namespaces by label instead.
	// +optional
	NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector,omitempty"`
	// Driver is the name of a driver profile (`nvidia`), not of a DRA driver.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	Driver string `json:"driver"`
	// Device says which kinds of devices satisfy.
	// +optional
	// +kubebuilder:default=Any
	Device DeviceChoice `json:"device,omitempty"`
	// Count of devices in one claim.
	// +optional
	// +kubebuilder:default=1
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=32
	Count int32 `json:"count,omitempty"`
	// MinMemory of one device, as a quantity (`16Gi`).
	// +optional
	MinMemory *resource.Quantity `json:"minMemory,omitempty"`
	// Fit says which device is preferred among those that satisfy. Default: Smallest with minMemory, First without.
	// +optional
	Fit Fit `json:"fit,omitempty"`
	// Product name to match: exact, or with `*` for any characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Product string `json:"product,omitempty"`
	// Selectors are further CEL expressions, all of which must hold.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	// +kubebuilder:validation:items:MaxLength=10240
	// +kubebuilder:validation:items:MinLength=1
	Selectors []string `json:"selectors,omitempty"`
	// SameAttribute that all devices of one claim must share; needs count of at least 2 to mean anything.
	// +optional
	SameAttribute SameAttribute `json:"sameAttribute,omitempty"`
	// Sharing of one device by several containers or pods.
	// +optional
	Sharing *Sharing `json:"sharing,omitempty"`
}

// Sharing configures how the driver shares a device.
// +kubebuilder:validation:XValidation:rule="self.strategy == 'TimeSlicing' || !has(self.interval)",message="interval belongs to strategy TimeSlicing"
// +kubebuilder:validation:XValidation:rule="self.strategy == 'MPS' || (!has(self.activeThreadPercentage) && !has(self.pinnedMemoryLimit))",message="activeThreadPercentage and pinnedMemoryLimit belong to strategy MPS"
type Sharing struct {
	// Strategy of sharing, where the driver has it.
	// +kubebuilder:validation:Enum=TimeSlicing;MPS
	Strategy string `json:"strategy"`
	// Interval of a time slice.
	// +optional
	// +kubebuilder:validation:Enum=Default;Short;Medium;Long
	Interval string `json:"interval,omitempty"`
	// ActiveThreadPercentage of one client.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=100
	ActiveThreadPercentage *int32 `json:"activeThreadPercentage,omitempty"`
	// PinnedMemoryLimit is the device memory that one client may pin.
	// +optional
	PinnedMemoryLimit *resource.Quantity `json:"pinnedMemoryLimit,omitempty"`
}

// GPUClaimTemplateStatus says where the template was written and what is wrong with it.
type GPUClaimTemplateStatus struct {
	// ObservedGeneration is the generation of the spec that this status speaks of.
	// +optional
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// Written are the namespaces whose ResourceClaimTemplate has the present meaning, sorted.
	// +optional
	// +listType=set
	Written []string `json:"written,omitempty"`
	// Waiting are namespaces that do not exist yet, sorted.
	// +optional
	// +listType=set
	Waiting []string `json:"waiting,omitempty"`
	// Failed are namespaces where the template could not be written.
	// +optional
	// +listType=map
	// +listMapKey=namespace
	Failed []FailedNamespace `json:"failed,omitempty"`
	// Summary is "written/wanted".
	// +optional
	Summary string `json:"summary,omitempty"`
	// Conditions: Ready, Satisfiable.
	// +optional
	// +listType=map
	// +listMapKey=type
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// FailedNamespace is a namespace where a template could not be written.
type FailedNamespace struct {
	Namespace string `json:"namespace"`
	Message   string `json:"message"`
}

// GPUClaimTemplateList is a list of GPUClaimTemplates.
// +kubebuilder:object:root=true
type GPUClaimTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []GPUClaimTemplate `json:"items"`
}
