package claim

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

const nodeName = "node-1"

// node is one node with its devices and the scheduler's own allocator over them.
type node struct {
	t        *testing.T
	name     string
	driver   *profile.Driver
	features structured.Features
	slices   []*resourcev1.ResourceSlice
	state    structured.AllocatedState
	claims   int
}

func newNode(t *testing.T, driverName string, devices ...resourcev1.Device) *node {
	d := driver(t, driverName)
	return nodeWith(t, d, structured.Features{PrioritizedList: true, PartitionableDevices: true}, &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName + "-" + d.DriverName},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: d.DriverName, NodeName: ptr.To(nodeName), Devices: devices,
			Pool: resourcev1.ResourcePool{Name: nodeName, ResourceSliceCount: 1, Generation: 1},
		},
	})
}

// nodeWith is a node in a cluster that has some features: its API server keeps of the slices what it knows.
func nodeWith(t *testing.T, d *profile.Driver, features structured.Features, slices ...*resourcev1.ResourceSlice) *node {
	return &node{t: t, name: nodeName, driver: d, features: features, slices: served(features, slices), state: structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}}
}

// allocate gives devices to one claim made from what spec means. An empty result: no device satisfies. An error is one
// that would stop the pod on every node.
func (n *node) allocate(spec v1alpha1.GPUClaimTemplateSpec) (resourcev1.DeviceAllocationResult, error) {
	n.t.Helper()
	set, err := profile.NewSet(*n.driver)
	require.NoError(n.t, err)
	built, err := Build(spec, set, Capabilities{NoPrioritizedList: !n.features.PrioritizedList})
	require.NoError(n.t, err)
	return n.allocateClaim(built.Spec)
}

// allocateClaim is allocate for a claim from elsewhere.
func (n *node) allocateClaim(spec resourcev1.ResourceClaimSpec) (resourcev1.DeviceAllocationResult, error) {
	n.t.Helper()
	ctx := context.Background()
	allocator, err := structured.NewAllocator(ctx, n.features, n.state, n, n.slices, celCache(n.features))
	require.NoError(n.t, err)
	n.claims++
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: "claim", UID: types.UID(fmt.Sprint(n.claims))},
		Spec:       spec,
	}
	results, err := allocator.Allocate(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: n.name}}, []*resourcev1.ResourceClaim{claim})
	if err != nil || len(results) == 0 {
		return resourcev1.DeviceAllocationResult{}, err
	}
	for _, r := range results[0].Devices.Results {
		n.take(r)
	}
	return results[0].Devices, nil
}

// take remembers what a claim has, as the scheduler does: a device, or a share of one.
func (n *node) take(r resourcev1.DeviceRequestAllocationResult) {
	id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
	if r.ShareID == nil {
		n.state.AllocatedDevices.Insert(id)
		return
	}
	n.state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, r.ShareID))
	n.state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
}

// gets is the names of the devices that a claim gets.
func (n *node) gets(spec v1alpha1.GPUClaimTemplateSpec) []string {
	n.t.Helper()
	result, err := n.allocate(spec)
	require.NoError(n.t, err)
	var names []string
	for _, r := range result.Results {
		names = append(names, r.Device)
	}
	return names
}

// List and Get make the node the lister of its driver's DeviceClasses.
func (n *node) List() ([]*resourcev1.DeviceClass, error) {
	var out []*resourcev1.DeviceClass
	for _, c := range n.driver.Classes {
		out = append(out, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: c.Name},
			Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{selector(c.Expression)}}})
	}
	return out, nil
}

func (n *node) Get(name string) (*resourcev1.DeviceClass, error) {
	classes, _ := n.List()
	for _, c := range classes {
		if c.Name == name {
			return c, nil
		}
	}
	return nil, fmt.Errorf("device class %s does not exist", name)
}

// device has the type and, with option with…, what else is published of it.
func device(name, kind string, options ...func(*resourcev1.Device)) resourcev1.Device {
	d := resourcev1.Device{Name: name,
		Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{},
		Capacity:   map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{}}
	if kind != "" {
		withText("type", kind)(&d)
	}
	for _, o := range options {
		o(&d)
	}
	return d
}

func withMemory(size string) func(*resourcev1.Device) { return withCapacity("memory", size) }

func withCapacity(name resourcev1.QualifiedName, size string) func(*resourcev1.Device) {
	return func(d *resourcev1.Device) {
		d.Capacity[name] = resourcev1.DeviceCapacity{Value: resource.MustParse(size)}
	}
}

func withText(name resourcev1.QualifiedName, value string) func(*resourcev1.Device) {
	return func(d *resourcev1.Device) {
		d.Attributes[name] = resourcev1.DeviceAttribute{StringValue: &value}
	}
}

func withNumber(name resourcev1.QualifiedName, value int64) func(*resourcev1.Device) {
	return func(d *resourcev1.Device) {
		d.Attributes[name] = resourcev1.DeviceAttribute{IntValue: &value}
	}
}

func withProduct(name string) func(*resourcev1.Device) { return withText("productName", name) }

func onRoot(root string) func(*resourcev1.Device) {
	return withText("resource.kubernetes.io/pcieRoot", root)
}
