// Package nodes keeps one GPUNode for each node that has accelerators or is to have them, and the node's label. What the
// status says is decided by package gpunode; here the facts are fetched and the result is written, when it differs.
package nodes

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
	"github.com/gpu-dra/gpu-dra/internal/inventory"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// again is when to look again after the cache was found to be behind what was written.
const again = 200 * time.Millisecond

// Inventory says what a node has.
type Inventory interface {
	Node(name string) (inventory.Node, error)
}

// Reconciler brings the GPUNode of one node up to date. Requests name nodes.
type Reconciler struct {
	// Client reads from a cache, which may hand out shared objects, and writes.
	Client    client.Client
	Inventory Inventory
	// Allocated counts by driver the devices on a node that claims hold, nil while that is not known.
	Allocated func(node string) (map[string]int32, error)
	// Groups that the settings list.
	Groups Groups
	// Namespace of the drivers' pods.
	Namespace    string
	Distribution profile.Distribution
	Profiles     *profile.Set
	Clock        clock.PassiveClock
	// Pass hears of every node that was brought up to date.
	Pass *Pass

	pace pace
}

// Reconcile implements reconcile.Reconciler.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	node, status, after, err := r.node(ctx, req.Name)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || errors.Is(err, errReplaced) {
		// The cache was behind. What was computed from it is worth nothing; the event that brings it up to date may have
		// come already.
		return reconcile.Result{RequeueAfter: again}, nil
	}
	if err == nil || apierrors.IsInvalid(err) {
		// What is refused will be refused again: one node must not keep the cluster from being called read.
		r.Pass.Done(req.Name)
	}
	if err == nil && node != nil {
		err = r.label(ctx, node, status)
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: after}, nil
}

// node brings the GPUNode up to date. It returns the Node whose label is to follow, with the status written, nil for none, and
// after how long to look again.
func (r *Reconciler) node(ctx context.Context, name string) (*corev1.Node, *v1alpha1.GPUNodeStatus, time.Duration, error) {
	node, err := get(ctx, r.Client, name, &corev1.Node{})
	if err != nil {
		return nil, nil, 0, err
	}
	have, err := get(ctx, r.Client, name, &v1alpha1.GPUNode{})
	if err != nil {
		return nil, nil, 0, err
	}
	if node == nil {
		r.pace.forget(name)
		// The garbage collector does the same by the owner reference, later.
		return nil, nil, 0, r.remove(ctx, have)
	}
	if have != nil && !ownedBy(have, node) {
		// A node of the same name joined: what was known of the other one is not its history.
		if err := r.remove(ctx, have); err != nil {
			return nil, nil, 0, err
		}
		return nil, nil, 0, errReplaced
	}
	in, err := r.input(ctx, node)
	if err != nil {
		return nil, nil, 0, err
	}
	if !gpunode.Wanted(in) {
		return node, nil, 0, r.remove(ctx, have)
	}
	var prev v1alpha1.GPUNodeStatus
	if have != nil {
		prev = have.Status
	}
	now := r.Clock.Now()
	status, after := gpunode.Compute(prev, in, now)
	status, held := r.pace.hold(name, prev, status, now)
	if held > 0 && (after == 0 || held < after) {
		after = held
	}
	err = r.write(ctx, node, have, status)
	if err == nil && prev.Summary.Allocated != status.Summary.Allocated {
		r.pace.wrote(name, now)
	}
	return node, &status, after, err
}

// errReplaced says that a GPUNode was removed whose place another is to take.
var errReplaced = errors.New("the GPUNode was of another node of this name")

// get reads an object into out and returns it, or nil when there is none.
func get[T client.Object](ctx context.Context, c client.Reader, name string, out T) (found T, err error) {
	switch err := c.Get(ctx, types.NamespacedName{Name: name}, out); {
	case apierrors.IsNotFound(err):
		return found, nil
	case err != nil:
		return found, err
	}
	return out, nil
}

func (r *Reconciler) input(ctx context.Context, node *corev1.Node) (gpunode.Input, error) {
	inv, err := r.Inventory.Node(node.Name)
	if err != nil {
		return gpunode.Input{}, fmt.Errorf("slices of node %s: %w", node.Name, err)
	}
	pods, err := r.pods(ctx, node.Name)
	if err != nil {
		return gpunode.Input{}, fmt.Errorf("pods on node %s: %w", node.Name, err)
	}
	allocated, err := r.Allocated(node.Name)
	if err != nil {
		return gpunode.Input{}, fmt.Errorf("claims of node %s: %w", node.Name, err)
	}
	in := gpunode.Input{
		Allocated:    allocated,
		Node:         node,
		Groups:       r.Groups.Of(node.Labels),
		Devices:      inv.Devices,
		Pods:         pods,
		Distribution: r.Distribution,
		Profiles:     r.Profiles,
	}
	for _, d := range inv.Drivers {
		in.Drivers = append(in.Drivers, gpunode.Driver{
			Name: d.Name, Registered: d.Registered, Counts: d.Counts, PublishedTwice: d.PublishedTwice, Pools: d.Pools,
		})
	}
	return in, nil
}
