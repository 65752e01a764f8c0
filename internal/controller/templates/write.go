package templates

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/claim"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// bring makes the template of a namespace mean what it should. have is what is there now by the cache, nil for nothing.
//
// Each step leaves something that the next attempt goes on from: a process that ends between delete and create leaves a
// namespace without the template, which is created then.
func (w *work) bring(ctx context.Context, namespace string, have *resourcev1.ResourceClaimTemplate) {
	object := claim.Object(w.template, namespace, w.spec)
	if have != nil && w.current(have, object) {
		w.wrote(namespace, nil)
		return
	}
	if have != nil {
		if err := w.try(ctx, object); err != nil {
			// The old one stays.
			w.wrote(namespace, err)
			return
		}
		switch err := w.remove(ctx, have); {
		case apierrors.IsConflict(err):
			w.behind = true
			return
		case err != nil:
			w.wrote(namespace, err)
			return
		}
	}
	err := w.Client.Create(ctx, object)
	if apierrors.IsAlreadyExists(err) {
		w.taken(ctx, object)
		return
	}
	w.wrote(namespace, err)
}

// current says whether an object was built from the present meaning of this very template.
func (w *work) current(have, want metav1.Object) bool {
	return w.owns(have, true) && have.GetAnnotations()[v1alpha1.AnnotationSpecHash] == want.GetAnnotations()[v1alpha1.AnnotationSpecHash]
}

// owns says whether the template owns an object: this one, or, where the uid does not matter, an earlier one of its name,
// whose objects the garbage collector has not removed yet.
func (w *work) owns(o metav1.Object, uid bool) bool {
	owner := metav1.GetControllerOf(o)
	return owner != nil && owner.Kind == "GPUClaimTemplate" && owner.Name == w.template.Name && (!uid || owner.UID == w.template.UID)
}

// try asks the API server whether it would take an object, under a name that is free.
func (w *work) try(ctx context.Context, object *resourcev1.ResourceClaimTemplate) error {
	return w.dryRun(ctx, object.DeepCopy())
}

// dryRun leaves in trial what the API server made of it.
func (w *work) dryRun(ctx context.Context, trial *resourcev1.ResourceClaimTemplate) error {
	trial.Name, trial.GenerateName = "", trial.Name+"-"
	return w.Client.Create(ctx, trial, client.DryRunAll)
}

// remove deletes an object: that very one. One that is gone is removed.
func (w *work) remove(ctx context.Context, have *resourcev1.ResourceClaimTemplate) error {
	object := &resourcev1.ResourceClaimTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: have.Namespace, Name: have.Name}}
	return client.IgnoreNotFound(w.Client.Delete(ctx, object, client.Preconditions{UID: ptr.To(have.UID)}))
}

// taken looks at what has the name, which the cache does not know of: ours, when the cache is behind or somebody took our
// label off; or somebody else's, which is left alone.
func (w *work) taken(ctx context.Context, object *resourcev1.ResourceClaimTemplate) {
	have := &resourcev1.ResourceClaimTemplate{}
	switch err := w.Live.Get(ctx, client.ObjectKeyFromObject(object), have); {
	case apierrors.IsNotFound(err):
		w.behind = true
	case err != nil:
		w.wrote(object.Namespace, err)
	case !w.owns(have, false):
		w.fail(object.Namespace, condition.TemplateNameTaken,
			"a ResourceClaimTemplate of this name is there that gpu-dra did not create; it is left alone, rename one of the two")
	case have.Labels[v1alpha1.LabelClaimTemplate] == w.template.Name:
		w.behind = true
	default:
		patch := have.DeepCopy()
		metav1.SetMetaDataLabel(&patch.ObjectMeta, v1alpha1.LabelClaimTemplate, w.template.Name)
		if err := w.Client.Patch(ctx, patch, client.MergeFrom(have)); err != nil {
			w.wrote(object.Namespace, err)
			return
		}
		w.behind = true
	}
}

// withdraw deletes what stands in namespaces that the template is no longer for. What fails is tried again with the next
// attempt, and does not change what the template is.
func (w *work) withdraw(ctx context.Context, have map[string]*resourcev1.ResourceClaimTemplate, wanted []string) {
	for _, namespace := range slices.Sorted(maps.Keys(have)) {
		if slices.Contains(wanted, namespace) {
			continue
		}
		switch err := w.remove(ctx, have[namespace]); {
		case apierrors.IsConflict(err):
			w.behind = true
		case err != nil:
			w.unwritten = errors.Join(w.unwritten, fmt.Errorf("remove from namespace %s: %w", namespace, err))
		}
	}
}
