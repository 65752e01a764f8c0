package platform

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
)

// Owners are the references that others set on a GPUNodeGroup, and ours to the NodeGroup. A reference to a NodeGroup that is
// gone makes the garbage collector delete the object, so it goes as soon as that is certain; a NodeGroup that could not be
// read leaves it.
func Owners(have []metav1.OwnerReference, name string, p nodegroup.Platform) []metav1.OwnerReference {
	if p.Lookup == nodegroup.Unreadable {
		return have
	}
	out := slices.DeleteFunc(slices.Clone(have), func(o metav1.OwnerReference) bool {
		gv, err := schema.ParseGroupVersion(o.APIVersion)
		return err == nil && gv.Group == NodeGroupKind.Group && o.Kind == NodeGroupKind.Kind
	})
	if owner := OwnerReference(name, p); owner != nil {
		out = append(out, *owner)
	}
	if len(out) == 0 {
		// Not an empty list, which would differ from none and be sent for ever.
		return nil
	}
	return out
}
