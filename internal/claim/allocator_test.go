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
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

const nodeName = "node-1"

// node is one node with its devices and the scheduler's own allocator over them.
type node struct {
	t      *testing.T
	driver *profile.Driver
	slices []*resourcev1.ResourceSlice
	taken  sets.Set[structured.DeviceID]
}

func newNode(t *testing.T, driverName string, devices ...resourcev1.Device) *node {
	d := driver(t, driverName)
	return &node{t: t, driver: d, taken: sets.New[structured.DeviceID](), slices: []*resourcev1.ResourceSlice{{
		ObjectMeta: metav1.ObjectMeta{Name: nodeName + "-" + d.DriverName},
		Spec: resourcev1.ResourceSliceSpec{
			Driver: d.DriverName, NodeName: ptr.To(nodeName), Devices: devices,
			Pool: resourcev1.ResourcePool{Name: nodeName, ResourceSliceCount: 1, Generation: 1},
		},
	}}}
}

// allocate gives devices to one claim made from what spec means. An empty result: no device satisfies. An error is one
// that would stop the pod on every node.
func (n *node) allocate(spec v1alpha1.GPUClaimTemplateSpec) (resourcev1.DeviceAllocationResult, error) {
	n.t.Helper()
	built, err := Build(spec, profiles(n.t), Capabilities{})
	require.NoError(n.t, err)
	ctx := context.Background()
	allocator, err := structured.NewAllocator(ctx, structured.Features{PrioritizedList: true, PartitionableDevices: true},
		structured.AllocatedState{AllocatedDevices: n.taken}, n, n.slices, cel.NewCache(50, cel.Features{}))
	require.NoError(n.t, err)
	claim := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: "claim", UID: types.UID(fmt.Sprint(len(n.taken)))},
		Spec:       built.Spec,
	}
	results, err := allocator.Allocate(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: nodeName}}, []*resourcev1.ResourceClaim{claim})
	if err != nil || len(results) == 0 {
		return resourcev1.DeviceAllocationResult{}, err
	}
	for _, r := range results[0].Devices.Results {
		n.taken.Insert(structured.MakeDeviceID(r.Driver, r.Pool, r.Device))
	}
	return results[0].Devices, nil
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
