// Package v1alpha1 is the API of gpu-dra: what a cluster has (GPUNode, GPUStack), the verdict per node group
// (GPUNodeGroup), and what a person asks claims to be (GPUClaimTemplate). All kinds are cluster-scoped.
//
// +kubebuilder:object:generate=true
// +groupName=gpu-dra.deckhouse.io
package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Group is the API group of every kind, and the domain of every label and annotation that gpu-dra writes.
const Group = "gpu-dra.deckhouse.io"

// GroupVersion is the group and version of the kinds in this package.
var GroupVersion = schema.GroupVersion{Group: Group, Version: "v1alpha1"}

// Labels and annotations that gpu-dra reads and writes on objects it does not own.
const (
	// LabelRegistered on a Node says "true" or "false": did every accelerator driver of its groups register (debounced).
	LabelRegistered = Group + "/registered"
	// LabelPassive on a Node, "true" or "false", is set by a person and goes over the group's `passive` setting.
	LabelPassive = Group + "/passive"
	// LabelClaimTemplate on a ResourceClaimTemplate names the GPUClaimTemplate it was built from.
	LabelClaimTemplate = Group + "/claim-template"
	// AnnotationSpecHash on a ResourceClaimTemplate is the hash of the meaning it was built from, so that defaults
	// the API server adds do not look like a change.
	AnnotationSpecHash = Group + "/spec-hash"
	// LabelExporter on a Pod, set by a person to ExporterSidecar, asks for the exporter as a sidecar.
	LabelExporter = Group + "/exporter"
	// LabelClaim on a Pod with that sidecar names the claim or claim template that the pod names, for the scraper.
	LabelClaim = Group + "/claim"
	// AnnotationSidecar on a Pod that asks for the sidecar says what became of that.
	AnnotationSidecar = Group + "/exporter-sidecar"
)

// ExporterSidecar is the value of LabelExporter.
const ExporterSidecar = "sidecar"

// StackName is the name of the only GPUStack.
const StackName = "main"

// AddToScheme registers the kinds of this package.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(GroupVersion,
		&GPUNode{}, &GPUNodeList{},
		&GPUNodeGroup{}, &GPUNodeGroupList{},
		&GPUStack{}, &GPUStackList{},
		&GPUClaimTemplate{}, &GPUClaimTemplateList{},
	)
	metav1.AddToGroupVersion(s, GroupVersion)
	return nil
}
