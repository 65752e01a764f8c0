package observe

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// CacheOptions say what of which kinds a controller's cache keeps. Objects are handed out uncopied: who changes one copies it
// first.
//
// Kinds of which only metadata is used are read whole and cut: a metadata-only informer of controller-runtime leaves a
// goroutine behind when it is stopped (k8s.io/apimachinery/pkg/watch.Filter blocks on the last event), and this cache is
// stopped whenever the settings change.
func CacheOptions(namespace string, drivers []*profile.Driver) cache.Options {
	return cache.Options{
		DefaultTransform:             cache.TransformStripManagedFields(),
		DefaultUnsafeDisableDeepCopy: ptr.To(true),
		// A read of a kind that no controller watches is a mistake: it would start an informer without a transform.
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}: {Transform: transform(Node)},
			&corev1.Pod{}: {
				Namespaces: map[string]cache.Config{namespace: {LabelSelector: DriverPods(drivers)}},
				Transform:  transform(DriverPod),
			},
			&resourcev1.DeviceClass{}: {Transform: transform(DeviceClass)},
			&corev1.Namespace{}:       {Transform: transform(Namespace)},
			&resourcev1.ResourceClaimTemplate{}: {
				Transform: transform(ClaimTemplate),
				Label:     exists(v1alpha1.LabelClaimTemplate),
			},
		},
	}
}

// DriverPods selects the pods of drivers. Selectors that differ in their values only are one selector; others can't be put
// together, and then every pod of the namespace is kept.
func DriverPods(drivers []*profile.Driver) labels.Selector {
	key, values := "", map[string]bool{}
	for _, d := range drivers {
		podLabels := d.PodLabels()
		for k, v := range podLabels {
			if key == "" {
				key = k
			}
			if k != key || len(podLabels) > 1 {
				return labels.Everything()
			}
			values[v] = true
		}
	}
	if key == "" {
		return labels.Nothing()
	}
	r, err := labels.NewRequirement(key, selection.In, slices.Sorted(maps.Keys(values)))
	if err != nil {
		return labels.Everything()
	}
	return labels.NewSelector().Add(*r)
}

// exists selects objects that have a label. The keys are constants or come from a distribution's profile; one that is no key
// selects nothing.
func exists(key string) labels.Selector {
	r, err := labels.NewRequirement(key, selection.Exists, nil)
	if err != nil {
		return labels.Nothing()
	}
	return labels.NewSelector().Add(*r)
}
