// Package templates builds ResourceClaimTemplates from GPUClaimTemplates. What they say is decided by package claim; here they
// are written, in a way that a spec which cannot be changed allows: a new meaning is tried by a dry-run first, then the old
// object is deleted and the new one created under its name. Pods that run keep their claims.
package templates

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/claim"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

const (
	// again is when to look again after the cache was found to be behind what was written.
	again = 200 * time.Millisecond
	// retryAfter is when to try again what only a person, or a change of the API server, can mend. Nothing tells when a
	// template of somebody else that is in the way has gone: only those with our label are watched.
	retryAfter = 30 * time.Second
)

// Reconciler brings the ResourceClaimTemplates of one GPUClaimTemplate up to date. Requests name GPUClaimTemplates.
type Reconciler struct {
	// Client reads from a cache, which may hand out shared objects, and writes.
	Client client.Client
	// Live reads from the API server.
	Live     client.Reader
	Profiles *profile.Set
	// Settings tell which gates of the drivers are on, for templates that share devices; nil: nothing is known of gates.
	Settings *settings.Settings
	Clock    clock.PassiveClock
	// Synced is true once every GPUNode was written: before, nothing is said of devices.
	Synced func() bool

	server server
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	template := &v1alpha1.GPUClaimTemplate{}
	if err := r.Client.Get(ctx, req.NamespacedName, template); err != nil {
		// The garbage collector removes what it owned.
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if template.DeletionTimestamp != nil {
		return reconcile.Result{}, nil
	}
	w := &work{Reconciler: r, template: template}
	if err := w.do(ctx); err != nil {
		return reconcile.Result{}, err
	}
	w.outcome.Satisfiable = w.satisfiable(ctx)
	status := claim.Status(template.Status, template.Generation, w.outcome, r.Clock.Now())
	if !equality.Semantic.DeepEqual(template.Status, status) {
		next := template.DeepCopy()
		next.Status = status
		err := r.Client.Status().Patch(ctx, next, client.MergeFromWithOptions(template, client.MergeFromWithOptimisticLock{}))
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
			return reconcile.Result{RequeueAfter: again}, nil
		}
		if err != nil {
			return reconcile.Result{}, err
		}
	}
	return w.next()
}

// work is one attempt to bring one template up to date everywhere.
type work struct {
	*Reconciler
	template *v1alpha1.GPUClaimTemplate
	spec     resourcev1.ResourceClaimTemplateSpec
	outcome  claim.Outcome
	// behind: the cache was behind what was written.
	behind bool
	// unwritten joins the errors after which another attempt may go well.
	unwritten error
}

// do fills the outcome. Its error is one of reading: nothing is known then.
func (w *work) do(ctx context.Context) error {
	namespaces, err := w.namespaces(ctx)
	if err != nil {
		return fmt.Errorf("namespaces: %w", err)
	}
	have, err := w.written(ctx)
	if err != nil {
		return fmt.Errorf("resource claim templates: %w", err)
	}
	write, wait, err := claim.Targets(w.template.Spec, namespaces)
	if err != nil {
		w.outcome.Err = err
		return nil
	}
	w.outcome.Waiting = wait
	w.withdraw(ctx, have, append(slices.Clone(write), wait...))
	if w.spec, w.outcome.Err = w.build(ctx, write, have); w.outcome.Err != nil {
		// What was written before stays: it still works, and people use it.
		return nil
	}
	for _, namespace := range write {
		w.bring(ctx, namespace, have[namespace])
	}
	return nil
}

// next says when to look again.
func (w *work) next() (reconcile.Result, error) {
	switch {
	case w.behind:
		return reconcile.Result{RequeueAfter: again}, nil
	case w.unwritten != nil:
		return reconcile.Result{}, w.unwritten
	case len(w.outcome.Failed) > 0:
		return reconcile.Result{RequeueAfter: retryAfter}, nil
	}
	return reconcile.Result{RequeueAfter: w.server.doubtful(w.Clock.Now())}, nil
}

func (w *work) fail(namespace, reason, message string) {
	w.outcome.Failed = append(w.outcome.Failed, claim.Failure{Namespace: namespace, Reason: reason, Message: message})
}

// wrote takes note of what came of a write in a namespace: nothing when it went well.
func (w *work) wrote(namespace string, err error) {
	switch {
	case err == nil:
		w.outcome.Written = append(w.outcome.Written, namespace)
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause), apierrors.IsNotFound(err):
		// The namespace is on its way out, or gone: its event will come.
		w.outcome.Waiting = append(w.outcome.Waiting, namespace)
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
		w.fail(namespace, condition.TemplateRejected, refusal(err))
	default:
		w.fail(namespace, condition.TemplateWriteFailed, refusal(err))
		w.unwritten = errors.Join(w.unwritten, fmt.Errorf("namespace %s: %w", namespace, err))
	}
}
