package platform

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-dra/gpu-dra/internal/reservation"
)

// Reservation is what a NodeGroup says of kubelet memory. The block is taken as it is, whole numbers as int64, because it
// is put back as it was; what it means, the core tells.
func Reservation(group *unstructured.Unstructured) reservation.NodeGroup {
	out := reservation.NodeGroup{
		Name:            group.GetName(),
		ResourceVersion: group.GetResourceVersion(),
		Annotation:      group.GetAnnotations()[reservation.AnnotationKey],
	}
	// Not the helpers' copies: the core changes none of it.
	spec, _ := group.Object["spec"].(map[string]any)
	kubelet, _ := spec["kubelet"].(map[string]any)
	out.Reservation, _ = kubelet["resourceReservation"].(map[string]any)
	topology, _ := kubelet["topologyManager"].(map[string]any)
	out.TopologyManager, _ = topology["enabled"].(bool)
	return out
}
