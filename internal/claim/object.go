package claim

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// labelManagedBy and managedBy mark every ResourceClaimTemplate that gpu-dra writes.
const (
	labelManagedBy = "app.kubernetes.io/managed-by"
	managedBy      = "gpu-dra"
)

// Hash returns what tells the meaning of one spec from another's: 32 hexadecimal digits over its JSON. It is taken of what
// Build returned, not of what the server gave back, which has defaults filled in.
func Hash(spec resourcev1.ResourceClaimTemplateSpec) string {
	// The type has no value that cannot be encoded: its raw JSON comes from Build, and a broken one encodes as an error
	// that the API server would give as well.
	data, err := json.Marshal(spec)
	if err != nil {
		data = []byte(err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}

// Object returns the ResourceClaimTemplate of a namespace: named as the template, owned by it when it has a UID (one read
// from a file has none), with the label that names the template and the hash of its spec. A namespaced object may have a
// cluster-scoped owner. The owner does not block deletion: that would need the right to update its finalizers.
func Object(template *v1alpha1.GPUClaimTemplate, namespace string, spec resourcev1.ResourceClaimTemplateSpec) *resourcev1.ResourceClaimTemplate {
	out := &resourcev1.ResourceClaimTemplate{
		TypeMeta: metav1.TypeMeta{APIVersion: resourcev1.SchemeGroupVersion.String(), Kind: "ResourceClaimTemplate"},
		ObjectMeta: metav1.ObjectMeta{
			Name:        template.Name,
			Namespace:   namespace,
			Labels:      map[string]string{labelManagedBy: managedBy, v1alpha1.LabelClaimTemplate: template.Name},
			Annotations: map[string]string{v1alpha1.AnnotationSpecHash: Hash(spec)},
		},
		Spec: *spec.DeepCopy(),
	}
	if template.UID != "" {
		out.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(),
			Kind:       "GPUClaimTemplate",
			Name:       template.Name,
			UID:        template.UID,
			Controller: ptr.To(true),
		}}
	}
	return out
}
