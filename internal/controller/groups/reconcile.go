// Package groups keeps one GPUNodeGroup for each listed node group, where no hooks run. Under hooks the hook `nodegroups` is
// the only writer, and this package is not used. Both call package nodegroup with the same facts.
package groups

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/platform"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

const (
	// again is when to look again after the cache was found to be behind what was written.
	again = 200 * time.Millisecond
	// lookAgain is how long what the platform says of groups stands. Its kind may not be served, so it is not watched.
	lookAgain = time.Minute
)

// Reconciler brings one GPUNodeGroup up to date. Requests name groups.
type Reconciler struct {
	// Client reads from a cache, which may hand out shared objects, and writes.
	Client client.Client
	// Live reads from the API server.
	Live   client.Reader
	Groups []settings.NodeGroup
	// MemoryReservation of the settings, which groups override.
	MemoryReservation settings.MemoryReservation
	SettingsHash      string
	Distribution      profile.Distribution
	Profiles          *profile.Set
	Clock             clock.PassiveClock

	mu        sync.Mutex
	looked    time.Time
	platforms map[string]nodegroup.Platform
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	after, err := r.group(ctx, req.Name)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		return reconcile.Result{RequeueAfter: again}, nil
	}
	return reconcile.Result{RequeueAfter: after}, err
}

func (r *Reconciler) group(ctx context.Context, name string) (time.Duration, error) {
	have := &v1alpha1.GPUNodeGroup{}
	exists := true
	if err := r.Client.Get(ctx, types.NamespacedName{Name: name}, have); err != nil {
		if !apierrors.IsNotFound(err) {
			return 0, err
		}
		exists = false
		have = &v1alpha1.GPUNodeGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	i := slices.IndexFunc(r.Groups, func(g settings.NodeGroup) bool { return g.Name == name })
	if i < 0 {
		if !exists {
			return 0, nil
		}
		object := &v1alpha1.GPUNodeGroup{ObjectMeta: metav1.ObjectMeta{Name: name}}
		return 0, client.IgnoreNotFound(r.Client.Delete(ctx, object, client.Preconditions{UID: ptr.To(have.UID)}))
	}
	in, err := r.input(ctx, r.Groups[i])
	if err != nil {
		return 0, err
	}
	now := r.Clock.Now()
	status := nodegroup.Compute(have.Status, in, now)
	if have, err = r.own(ctx, have, exists, in.Platform); err != nil {
		return 0, err
	}
	if !equality.Semantic.DeepEqual(have.Status, status) {
		next := have.DeepCopy()
		next.Status = status
		// Not a patch: it would be the difference of two structs, and leave out the counts that are zero in both and that the
		// API server wants there.
		if err := r.Client.Status().Update(ctx, next); err != nil {
			return 0, err
		}
	}
	return r.after(in, now), nil
}

// own creates the object where there is none, and keeps its owners. It returns the object as it is then.
func (r *Reconciler) own(ctx context.Context, have *v1alpha1.GPUNodeGroup, exists bool, p nodegroup.Platform) (*v1alpha1.GPUNodeGroup, error) {
	owners := platform.Owners(have.OwnerReferences, have.Name, p)
	if exists && equality.Semantic.DeepEqual(have.OwnerReferences, owners) {
		return have, nil
	}
	next := have.DeepCopy()
	next.OwnerReferences = owners
	if !exists {
		return next, r.Client.Create(ctx, next)
	}
	return next, r.Client.Patch(ctx, next, client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{}))
}

func (r *Reconciler) input(ctx context.Context, g settings.NodeGroup) (nodegroup.Input, error) {
	in := nodegroup.Input{
		Group:             g,
		MemoryReservation: r.MemoryReservation,
		Platform:          r.platform(ctx, g.Name),
		SettingsHash:      r.SettingsHash,
		Distribution:      r.Distribution,
		Profiles:          r.Profiles,
	}
	nodes := &v1alpha1.GPUNodeList{}
	if err := r.Client.List(ctx, nodes); err != nil {
		return in, err
	}
	in.Nodes = nodes.Items
	stack := &v1alpha1.GPUStack{}
	switch err := r.Client.Get(ctx, types.NamespacedName{Name: v1alpha1.StackName}, stack); {
	case err == nil:
		in.Stack = &stack.Status
	case !apierrors.IsNotFound(err):
		return in, err
	}
	return in, nil
}

// platform returns what the platform says of a group, reading all groups at once when the last answer is too old.
func (r *Reconciler) platform(ctx context.Context, name string) nodegroup.Platform {
	r.mu.Lock()
	defer r.mu.Unlock()
	if now := r.Clock.Now(); r.platforms == nil || now.Sub(r.looked) >= lookAgain {
		names := make([]string, len(r.Groups))
		for i, g := range r.Groups {
			names[i] = g.Name
		}
		r.platforms, r.looked = platform.NodeGroups(ctx, r.Live, r.Distribution, r.Profiles.All(), names), now
	}
	return r.platforms[name]
}

// after is when the status may be another although nothing happens: the heartbeat gets too old, or the platform is to be
// asked again.
func (r *Reconciler) after(in nodegroup.Input, now time.Time) time.Duration {
	var after time.Duration
	if in.Platform.Lookup != nodegroup.NotLookedUp {
		after = lookAgain
	}
	if in.Stack != nil && in.Stack.Heartbeat != nil {
		if stale := in.Stack.Heartbeat.Add(v1alpha1.HeartbeatStaleAfter + time.Second).Sub(now); stale > 0 && (after == 0 || stale < after) {
			after = stale
		}
	}
	return after
}
