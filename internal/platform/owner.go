package platform

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
)

// OwnerReference to the NodeGroup that a GPUNodeGroup is named after, or nil where there is none.
func OwnerReference(name string, p nodegroup.Platform) *metav1.OwnerReference {
	if p.Lookup != nodegroup.Found || p.UID == "" {
		return nil
	}
	apiVersion, kind := NodeGroupKind.ToAPIVersionAndKind()
	return &metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(p.UID)}
}
