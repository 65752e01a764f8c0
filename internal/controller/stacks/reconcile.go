// Package stacks keeps the GPUStack: what the controller knows of the cluster as a whole. What the status says is decided by
// package stack; here the facts are fetched and the result is written, when it differs.
package stacks

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// again is when to look again after the cache was found to be behind what was written.
const again = 200 * time.Millisecond

// Reconciler brings the one GPUStack up to date.
type Reconciler struct {
	// Client reads from a cache, which may hand out shared objects, and writes.
	Client client.Client
	Local  Local
	Remote *Remote
	// Metrics of the API server.
	Metrics *Metrics

	Settings     *settings.Settings
	SettingsHash string
	// Problems of the settings in force.
	Problems []settings.Problem
	// Unreadable says why the present settings are not those in force, empty when they are.
	Unreadable   func() string
	UnderHooks   bool
	Distribution profile.Distribution
	Profiles     *profile.Set
	// Synced is true once the caches were filled and every GPUNode was written.
	Synced  func() bool
	Version string
	Clock   clock.PassiveClock
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	switch err := r.stack(ctx); {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return reconcile.Result{RequeueAfter: again}, nil
	case err != nil:
		return reconcile.Result{}, err
	}
	// Whatever happens in between: the heartbeat.
	return reconcile.Result{RequeueAfter: v1alpha1.HeartbeatInterval}, nil
}

func (r *Reconciler) stack(ctx context.Context) error {
	have := &v1alpha1.GPUStack{}
	exists := true
	if err := r.Client.Get(ctx, types.NamespacedName{Name: v1alpha1.StackName}, have); err != nil {
		if !apierrors.IsNotFound(err) {
			return err
		}
		exists = false
		have = &v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StackName}}
	}
	synced := r.Synced()
	if !synced && r.trusted(have.Status) {
		return nil
	}
	in, err := r.input(ctx, synced)
	if err != nil {
		return err
	}
	status := stack.Compute(have.Status, in, r.Clock.Now())
	if !exists {
		if err := r.Client.Create(ctx, have); err != nil {
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

// trusted says whether a controller before this one has read the cluster with the same settings, and not long ago. Then its
// last word stands until this one has read the cluster too, or the heartbeat, which nobody renews meanwhile, is too old: the
// restart of a controller is no reason to call every group unknown.
func (r *Reconciler) trusted(s v1alpha1.GPUStackStatus) bool {
	return s.Synced && s.SettingsHash == r.SettingsHash && s.Heartbeat != nil &&
		r.Clock.Now().Sub(s.Heartbeat.Time) < v1alpha1.HeartbeatStaleAfter
}
