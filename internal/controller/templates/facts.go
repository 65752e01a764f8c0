package templates

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/claim"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

func (r *Reconciler) namespaces(ctx context.Context) ([]claim.Namespace, error) {
	list := &corev1.NamespaceList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil, err
	}
	out := make([]claim.Namespace, len(list.Items))
	for i := range list.Items {
		n := &list.Items[i]
		out[i] = claim.Namespace{Name: n.Name, Labels: n.Labels, Terminating: n.DeletionTimestamp != nil}
	}
	return out, nil
}

// written returns the objects that this template, or an earlier one of its name, owns, by namespace.
func (w *work) written(ctx context.Context) (map[string]*resourcev1.ResourceClaimTemplate, error) {
	list := &resourcev1.ResourceClaimTemplateList{}
	if err := w.Client.List(ctx, list, client.MatchingLabels{v1alpha1.LabelClaimTemplate: w.template.Name}); err != nil {
		return nil, err
	}
	out := map[string]*resourcev1.ResourceClaimTemplate{}
	for i := range list.Items {
		if o := &list.Items[i]; o.Name == w.template.Name && w.owns(o, false) {
			out[o.Namespace] = o
		}
	}
	return out, nil
}

// satisfiable compares the template with the devices that GPUNodes show. Nothing is said of a template that cannot be built;
// and while the cluster is being read, what was said before stands.
func (w *work) satisfiable(ctx context.Context) metav1.Condition {
	r, template := w.Reconciler, w.template
	driver, known := r.Profiles.ByName(template.Spec.Driver)
	if w.outcome.Err != nil || !known {
		return metav1.Condition{}
	}
	class := claim.Class(w.spec)
	if err := r.Client.Get(ctx, client.ObjectKey{Name: class}, &resourcev1.DeviceClass{}); apierrors.IsNotFound(err) {
		return claim.ClassMissing(class, driver)
	}
	nodes := &v1alpha1.GPUNodeList{}
	if err := r.Client.List(ctx, nodes); err != nil || !r.Synced() {
		if before := condition.Find(template.Status.Conditions, condition.Satisfiable); before != nil && before.ObservedGeneration == template.Generation && before.Reason != condition.TemplateClassMissing {
			return *before
		}
		return metav1.Condition{}
	}
	var devices []v1alpha1.DeviceGroup
	for i := range nodes.Items {
		devices = append(devices, nodes.Items[i].Status.Devices...)
	}
	return claim.Satisfiable(template.Spec, devices, driver, claim.DriverGates(r.Settings, driver))
}
