package claimstate

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/internal/inventory"
)

const driver = "gpu.example.com"

type option func(*resourcev1.ResourceClaim)

// claim asks for a device of a class.
func claim(options ...option) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "c", UID: "u", ResourceVersion: "5"}}
	for _, o := range options {
		o(c)
	}
	return c
}

func asks(classes ...string) option {
	return func(c *resourcev1.ResourceClaim) {
		r := resourcev1.DeviceRequest{Name: fmt.Sprint("r", len(c.Spec.Devices.Requests))}
		if len(classes) == 1 {
			r.Exactly = &resourcev1.ExactDeviceRequest{DeviceClassName: classes[0]}
		} else {
			for _, class := range classes {
				r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{DeviceClassName: class})
			}
		}
		c.Spec.Devices.Requests = append(c.Spec.Devices.Requests, r)
	}
}

func looksOn(class string) option {
	return func(c *resourcev1.ResourceClaim) {
		asks(class)(c)
		c.Spec.Devices.Requests[len(c.Spec.Devices.Requests)-1].Exactly.AdminAccess = ptr.To(true)
	}
}

func holds(pool string, devices ...string) option {
	return func(c *resourcev1.ResourceClaim) {
		a := allocation(c)
		for _, d := range devices {
			a.Devices.Results = append(a.Devices.Results, resourcev1.DeviceRequestAllocationResult{Driver: driver, Pool: pool, Device: d})
		}
	}
}

func allocation(c *resourcev1.ResourceClaim) *resourcev1.AllocationResult {
	if c.Status.Allocation == nil {
		c.Status.Allocation = &resourcev1.AllocationResult{}
	}
	return c.Status.Allocation
}

// last changes the last device.
func last(change func(*resourcev1.DeviceRequestAllocationResult)) option {
	return func(c *resourcev1.ResourceClaim) {
		results := c.Status.Allocation.Devices.Results
		change(&results[len(results)-1])
	}
}

func shared(id string) option {
	return last(func(r *resourcev1.DeviceRequestAllocationResult) { r.ShareID = ptr.To(types.UID(id)) })
}

func admin() option {
	return last(func(r *resourcev1.DeviceRequestAllocationResult) { r.AdminAccess = ptr.To(true) })
}

// on is how the scheduler writes it.
func on(node string) option {
	return func(c *resourcev1.ResourceClaim) {
		allocation(c).NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
			MatchFields: []corev1.NodeSelectorRequirement{{Key: "metadata.name", Operator: corev1.NodeSelectorOpIn, Values: []string{node}}},
		}}}
	}
}

func usedBy(pods ...string) option {
	return func(c *resourcev1.ResourceClaim) {
		for _, p := range pods {
			c.Status.ReservedFor = append(c.Status.ReservedFor, resourcev1.ResourceClaimConsumerReference{Resource: "pods", Name: p})
		}
	}
}

func owned() option {
	return func(c *resourcev1.ResourceClaim) {
		c.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "p"}}
	}
}

func ownedBy(apiVersion, kind string) option {
	return func(c *resourcev1.ResourceClaim) {
		c.OwnerReferences = append(c.OwnerReferences, metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: "o"})
	}
}

func deleted() option {
	return func(c *resourcev1.ResourceClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }
}

func TestCondenseKeepsWhatIsCounted(t *testing.T) {
	full := claim(asks("a"), holds("n1", "gpu-0", "gpu-1"), admin(), on("n1"), usedBy("p"), owned())
	full.Labels, full.ManagedFields = map[string]string{"large": "label"}, []metav1.ManagedFieldsEntry{{Manager: "someone"}}
	full.CreationTimestamp = metav1.Unix(7, 0)
	c := Condense(full)
	require.Equal(t, metav1.ObjectMeta{Namespace: "team", Name: "c", ResourceVersion: "5", CreationTimestamp: metav1.Unix(7, 0)}, c.ObjectMeta)
	require.Equal(t, "n1", c.Node())
	require.Len(t, c.Devices(), 1, "who only looks on holds nothing")
	h := c.Devices()[0]
	require.Equal(t, inventory.IDOf("gpu-0"), h.ID)
	require.Equal(t, driver+"/n1", h.Pool())
	require.Equal(t, driver, h.Driver())
	require.Empty(t, c.requests, "of no interest once it has its devices")

	key, err := cache.MetaNamespaceKeyFunc(c)
	require.NoError(t, err)
	require.Equal(t, "team/c", key)
	var object runtime.Object = c
	require.Equal(t, c, object.DeepCopyObject())
	require.True(t, object.GetObjectKind().GroupVersionKind().Empty())
	require.Nil(t, (*Claim)(nil).DeepCopyObject())
	require.Nil(t, Condense(nil))
}

func TestNodeOfOddAllocations(t *testing.T) {
	for name, o := range map[string]option{
		"none":     func(c *resourcev1.ResourceClaim) { allocation(c) },
		"no terms": func(c *resourcev1.ResourceClaim) { allocation(c).NodeSelector = &corev1.NodeSelector{} },
		"labels": func(c *resourcev1.ResourceClaim) {
			allocation(c).NodeSelector = &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "rack", Operator: corev1.NodeSelectorOpIn, Values: []string{"r"}}}}}}
		},
		"several names": func(c *resourcev1.ResourceClaim) {
			on("n1")(c)
			f := &c.Status.Allocation.NodeSelector.NodeSelectorTerms[0].MatchFields[0]
			f.Values = append(f.Values, "n2")
		},
	} {
		c := Condense(claim(o, holds("p", "d")))
		require.Empty(t, c.Node(), name)
		values, err := NodeIndex(c)
		require.NoError(t, err)
		require.Empty(t, values, name)
	}
}

func TestTransformAndIndexIgnoreStrangers(t *testing.T) {
	once, err := Transform(claim(holds("p", "d"), on("n1")))
	require.NoError(t, err)
	require.IsType(t, &Claim{}, once)
	twice, err := Transform(once)
	require.NoError(t, err)
	require.Same(t, once, twice)
	values, err := NodeIndex(once)
	require.NoError(t, err)
	require.Equal(t, []string{"n1"}, values)
	for _, obj := range []any{nil, "text", (*Claim)(nil), &resourcev1.ResourceClaim{}} {
		values, err := NodeIndex(obj)
		require.NoError(t, err)
		require.Empty(t, values)
	}
}

func TestEqual(t *testing.T) {
	base := func() *resourcev1.ResourceClaim { return claim(asks("a"), holds("p", "d"), on("n1"), usedBy("x")) }
	c := Condense(base())
	same := base()
	same.ResourceVersion, same.Annotations = "9", map[string]string{"a": "b"}
	same.Status.Devices = []resourcev1.AllocatedDeviceStatus{{Device: "d"}}
	require.True(t, c.Equal(Condense(same)))
	require.False(t, c.Equal(nil))
	require.True(t, (*Claim)(nil).Equal(nil))
	for name, o := range map[string]option{
		"device": holds("p", "e"), "share": shared("s"), "admin": admin(), "node": on("n2"), "consumer": usedBy("y"), "owner": owned(), "deletion": deleted(),
		"allocation": func(c *resourcev1.ResourceClaim) { c.Status.Allocation = nil },
	} {
		other := base()
		o(other)
		require.False(t, c.Equal(Condense(other)), name)
	}
	require.False(t, Condense(claim(asks("a"))).Equal(Condense(claim(asks("a", "b")))))
}

func TestIdle(t *testing.T) {
	require.True(t, Condense(claim(holds("p", "d"))).Idle())
	require.True(t, Condense(claim(holds("p", "d"), owned())).Idle(), "whoever owns it")
	require.False(t, Condense(claim(holds("p", "d"), usedBy("x"))).Idle())
	require.False(t, Condense(claim(holds("p", "d"), deleted())).Idle(), "on its way out")
	require.False(t, Condense(claim(holds("p", "d"), admin())).Idle(), "it keeps nothing from others")
	require.False(t, Condense(claim(asks("a"))).Idle())
}

func TestOnNode(t *testing.T) {
	where := map[string]inventory.Device{"a": {Node: "n1"}, "b": {Node: "n1"}, "rack": {}, "far": {Node: "n2"}}
	locate := func(pool string, id inventory.DeviceID) (inventory.Device, bool) {
		for name, d := range where {
			if inventory.IDOf(name) == id {
				return d, true
			}
		}
		return inventory.Device{}, false
	}
	condensed := []*Claim{
		Condense(claim(holds("p", "a", "rack"), on("n1"))),
		Condense(claim(holds("p", "b"), shared("1"), on("n1"))),
		Condense(claim(holds("p", "b"), shared("2"), on("n1"))),
		Condense(claim(holds("p", "b"), admin(), on("n1"))),
		Condense(claim(holds("p", "far"), on("n1"))),
		// Its driver has wiped its slices: by its claim it is here.
		Condense(claim(holds("p", "gone"), on("n1"))),
	}
	require.Equal(t, map[string]int32{driver: 3}, OnNode(condensed, "n1", locate), "a, b once, gone")
	require.Empty(t, OnNode(nil, "n1", locate))
	require.NotNil(t, OnNode(nil, "n1", locate), "known to be none")
}
