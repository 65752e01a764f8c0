// Package claimstate condenses ResourceClaims to what is counted of them: which devices they hold, on which node, for how many
// consumers, and, while they hold none, which DeviceClasses they ask for and why they may be waiting. It fetches and writes
// nothing.
package claimstate

import (
	"slices"
	"unique"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gpu-dra/gpu-dra/internal/inventory"
)

// Claim is one ResourceClaim, condensed. It is immutable after Condense, safe for concurrent use, and fit for a client-go cache:
// it carries name, namespace, resourceVersion, the time of creation and that of deletion.
type Claim struct {
	metav1.ObjectMeta

	// requests are the DeviceClasses that each request may be served by; dropped once the claim has its devices.
	requests [][]unique.Handle[string]
	devices  []Held
	// node by its allocation; noNode where its devices are reachable from several.
	node unique.Handle[string]
	// allocated, maybe without a device of its own: one that only looks on has admin access.
	allocated bool
	consumers int32
	// owned by a pod, as those are that are made for one. Whatever else owns a claim does not use it.
	owned bool
}

// Held is a device that a claim holds.
type Held struct {
	pool unique.Handle[string]
	// ID of the device in its pool.
	ID inventory.DeviceID
	// Shared devices may be held by other claims too.
	Shared bool
}

// Pool is the key of the device's pool, as inventory.Slice.PoolKey.
func (h Held) Pool() string { return h.pool.Value() }

// Driver is the DRA driver's name.
func (h Held) Driver() string { return inventory.DriverOfPool(h.pool.Value()) }

var noNode = unique.Make("")

// Condense keeps no reference to the claim. Admin access holds no device: it is given beside whoever holds it. nil gives nil.
func Condense(c *resourcev1.ResourceClaim) *Claim {
	if c == nil {
		return nil
	}
	out := &Claim{
		ObjectMeta: metav1.ObjectMeta{
			Name: c.Name, Namespace: unique.Make(c.Namespace).Value(), ResourceVersion: c.ResourceVersion,
			CreationTimestamp: c.CreationTimestamp, DeletionTimestamp: c.DeletionTimestamp,
		},
		node:      noNode,
		allocated: c.Status.Allocation != nil,
		consumers: int32(len(c.Status.ReservedFor)),
		owned:     slices.ContainsFunc(c.OwnerReferences, isPod),
	}
	if !out.allocated {
		for i := range c.Spec.Devices.Requests {
			out.requests = append(out.requests, classesOf(&c.Spec.Devices.Requests[i]))
		}
		return out
	}
	for _, r := range c.Status.Allocation.Devices.Results {
		if r.AdminAccess != nil && *r.AdminAccess {
			continue
		}
		out.devices = append(out.devices, Held{
			pool: unique.Make(inventory.PoolKeyOf(r.Driver, r.Pool)), ID: inventory.IDOf(r.Device), Shared: r.ShareID != nil,
		})
	}
	out.devices = slices.Clip(out.devices)
	out.node = nodeOf(c.Status.Allocation)
	return out
}

func isPod(owner metav1.OwnerReference) bool {
	gv, err := schema.ParseGroupVersion(owner.APIVersion)
	return err == nil && gv.Group == "" && owner.Kind == "Pod"
}

// classesOf a request, one for each way to serve it. One that only looks on asks for nothing.
func classesOf(r *resourcev1.DeviceRequest) []unique.Handle[string] {
	var out []unique.Handle[string]
	if e := r.Exactly; e != nil && (e.AdminAccess == nil || !*e.AdminAccess) {
		out = append(out, unique.Make(e.DeviceClassName))
	}
	for i := range r.FirstAvailable {
		out = append(out, unique.Make(r.FirstAvailable[i].DeviceClassName))
	}
	return out
}

// nodeOf an allocation: the scheduler selects the node by name where a device is on one
// (k8s.io/dynamic-resource-allocation structured, createNodeSelector).
func nodeOf(a *resourcev1.AllocationResult) unique.Handle[string] {
	if a.NodeSelector == nil {
		return noNode
	}
	for _, term := range a.NodeSelector.NodeSelectorTerms {
		for _, f := range term.MatchFields {
			if f.Key == metav1.ObjectNameField && len(f.Values) == 1 {
				return unique.Make(f.Values[0])
			}
		}
	}
	return noNode
}

// Node on which the claim's devices are, empty where they are reachable from several, or it has none.
func (c *Claim) Node() string { return c.node.Value() }

// Devices that the claim holds for itself. The caller must not change them.
func (c *Claim) Devices() []Held { return c.devices }

// Idle is true for a claim that holds devices while nobody uses it.
func (c *Claim) Idle() bool {
	return len(c.devices) > 0 && c.consumers == 0 && c.DeletionTimestamp == nil
}

// Equal is true when both say the same of the cluster, whatever their metadata.
func (c *Claim) Equal(o *Claim) bool {
	if c == nil || o == nil {
		return c == o
	}
	return c.node == o.node && c.allocated == o.allocated && c.consumers == o.consumers && c.owned == o.owned &&
		(c.DeletionTimestamp == nil) == (o.DeletionTimestamp == nil) && slices.Equal(c.devices, o.devices) &&
		slices.EqualFunc(c.requests, o.requests, slices.Equal)
}

// GetObjectKind returns no kind: what is condensed is never sent anywhere.
func (c *Claim) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }

// DeepCopyObject copies the metadata and shares the rest, which never changes.
func (c *Claim) DeepCopyObject() runtime.Object {
	if c == nil {
		return nil
	}
	out := *c
	c.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}
