package observe

import (
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
)

// FactsChanged drops updates of GPUNodes that change nothing but who holds their devices: what rests on GPUNodes is computed
// from all of them, and pods come and go.
var FactsChanged = predicate.TypedFuncs[*v1alpha1.GPUNode]{
	UpdateFunc: func(e event.TypedUpdateEvent[*v1alpha1.GPUNode]) bool {
		return !gpunode.SameFacts(e.ObjectOld.Status, e.ObjectNew.Status)
	},
}
