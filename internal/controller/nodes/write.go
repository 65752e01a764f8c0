package nodes

import (
	"context"
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// untracked takes managedFields off a new GPUNode, and the API server tracks none from then on: they would be almost half of
// the object, which watchers keep whole (addon-operator as nested maps), and the controller is its only writer.
var untracked = []byte(`{"metadata":{"managedFields":[{}]}}`)

// write creates the GPUNode where there is none and patches its status where it differs. The patch carries the version that
// the status was computed from: one computed from an outdated status could move back the time a driver was lost.
func (r *Reconciler) write(ctx context.Context, node *corev1.Node, have *v1alpha1.GPUNode, status v1alpha1.GPUNodeStatus) error {
	if have == nil {
		have = &v1alpha1.GPUNode{ObjectMeta: metav1.ObjectMeta{Name: node.Name, OwnerReferences: []metav1.OwnerReference{ownerReference(node)}}}
		if err := r.Client.Create(ctx, have); err != nil {
			return err
		}
		if err := r.Client.Patch(ctx, have, client.RawPatch(types.MergePatchType, untracked)); err != nil {
			return err
		}
	}
	if equality.Semantic.DeepEqual(have.Status, status) {
		return nil
	}
	next := have.DeepCopy()
	next.Status = status
	return r.Client.Status().Patch(ctx, next, client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{}))
}

// remove deletes a GPUNode, if there is one: that very object, not one of the same name that came after it.
func (r *Reconciler) remove(ctx context.Context, have *v1alpha1.GPUNode) error {
	if have == nil {
		return nil
	}
	err := r.Client.Delete(ctx, &v1alpha1.GPUNode{ObjectMeta: metav1.ObjectMeta{Name: have.Name}}, client.Preconditions{UID: ptr.To(have.UID)})
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// label puts the debounced condition Registered on the Node, so that `kubectl get nodes -L` shows it, and takes it off where
// nothing is expected. nil status: no GPUNode is wanted.
func (r *Reconciler) label(ctx context.Context, node *corev1.Node, status *v1alpha1.GPUNodeStatus) error {
	var want any
	if status != nil {
		switch c := condition.Find(status.Conditions, condition.Registered); {
		case c == nil:
		case c.Status == metav1.ConditionTrue:
			want = "true"
		case c.Status == metav1.ConditionFalse:
			want = "false"
		}
	}
	have, labelled := node.Labels[v1alpha1.LabelRegistered]
	if want == nil && !labelled || want == have {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		// A node of the same name that joined meanwhile must not get the label of this one.
		"uid":    node.UID,
		"labels": map[string]any{v1alpha1.LabelRegistered: want},
	}})
	if err != nil {
		return fmt.Errorf("label of node %s: %w", node.Name, err)
	}
	err = r.Client.Patch(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node.Name}}, client.RawPatch(types.MergePatchType, patch))
	return client.IgnoreNotFound(err)
}

func ownerReference(node *corev1.Node) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node", Name: node.Name, UID: node.UID}
}

func ownedBy(g *v1alpha1.GPUNode, node *corev1.Node) bool {
	for _, o := range g.OwnerReferences {
		if o.UID == node.UID {
			return true
		}
	}
	return false
}
