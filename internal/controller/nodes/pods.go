package nodes

import (
	"cmp"
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// PodNodeIndex finds pods by the node they are on. The cache must have it, with PodNode.
const PodNodeIndex = "spec.nodeName"

// PodNode is the index function of PodNodeIndex.
func PodNode(o client.Object) []string {
	if p, ok := o.(*corev1.Pod); ok && p.Spec.NodeName != "" {
		return []string{p.Spec.NodeName}
	}
	return nil
}

// pods returns the drivers' pods on a node by profile name.
func (r *Reconciler) pods(ctx context.Context, node string) (map[string]v1alpha1.DriverPod, error) {
	list := &corev1.PodList{}
	if err := r.Client.List(ctx, list, client.InNamespace(r.Namespace), client.MatchingFields{PodNodeIndex: node}); err != nil {
		return nil, err
	}
	// While a pod is replaced there are two; what counts is the one that stays.
	slices.SortFunc(list.Items, func(a, b corev1.Pod) int {
		return cmp.Or(compareBool(a.DeletionTimestamp != nil, b.DeletionTimestamp != nil),
			b.CreationTimestamp.Compare(a.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	out := map[string]v1alpha1.DriverPod{}
	for _, p := range r.Profiles.All() {
		podLabels := p.PodLabels()
		if len(podLabels) == 0 {
			continue
		}
		selector := labels.SelectorFromSet(podLabels)
		for i := range list.Items {
			if selector.Matches(labels.Set(list.Items[i].Labels)) {
				out[p.Name] = driverPod(&list.Items[i])
				break
			}
		}
	}
	return out, nil
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}
