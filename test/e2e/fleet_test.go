//go:build e2e

package e2e

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	groupLabel = "node.deckhouse.io/group"
	nvidia     = "gpu.nvidia.com"
)

// addNode adds a fake node of a group, as Deckhouse labels it.
func (r *rig) addNode(name, group string) {
	r.t.Helper()
	r.create(&corev1.Node{ObjectMeta: metav1.ObjectMeta{
		Name:        name,
		Labels:      map[string]string{groupLabel: group, corev1.LabelHostname: name},
		Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
	}})
}

func (r *rig) create(o client.Object) {
	r.t.Helper()
	require.NoError(r.t, r.client.Create(context.Background(), o), "%T %s", o, o.GetName())
}

// gpus is a slice of whole GPUs as a driver publishes it for one node.
func gpus(node string, generation int64, count int) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("00000-%s-%s-%d", nvidia, node, generation)},
		Spec: resourcev1.ResourceSliceSpec{
			Driver:   nvidia,
			NodeName: &node,
			Pool:     resourcev1.ResourcePool{Name: node, Generation: generation, ResourceSliceCount: 1},
		},
	}
	for i := range count {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{
			Name: fmt.Sprintf("gpu-%d", i),
			Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
				"type": text("gpu"), "productName": text("NVIDIA H100 80GB HBM3"), "uuid": text(fmt.Sprintf("GPU-%s-%d", node, i)),
			},
			Capacity: map[resourcev1.QualifiedName]resourcev1.DeviceCapacity{"memory": {Value: resource.MustParse("81559Mi")}},
		})
	}
	return s
}

func text(s string) resourcev1.DeviceAttribute { return resourcev1.DeviceAttribute{StringValue: &s} }

// publish writes a slice as a driver does on a change: the new generation first, then the old ones go.
func (r *rig) publish(s *resourcev1.ResourceSlice) {
	r.t.Helper()
	r.create(s)
	var all resourcev1.ResourceSliceList
	require.NoError(r.t, r.client.List(context.Background(), &all))
	for i := range all.Items {
		old := &all.Items[i]
		if old.Spec.Driver == s.Spec.Driver && old.Spec.Pool.Name == s.Spec.Pool.Name && old.Spec.Pool.Generation < s.Spec.Pool.Generation {
			require.NoError(r.t, client.IgnoreNotFound(r.client.Delete(context.Background(), old)))
		}
	}
}

// wipe deletes the slices of a node, as the kubelet does when it restarts.
func (r *rig) wipe(node string) {
	r.t.Helper()
	var all resourcev1.ResourceSliceList
	require.NoError(r.t, r.client.List(context.Background(), &all))
	for i := range all.Items {
		if n := all.Items[i].Spec.NodeName; n != nil && *n == node {
			err := r.client.Delete(context.Background(), &all.Items[i])
			require.True(r.t, err == nil || apierrors.IsNotFound(err), "%v", err)
		}
	}
}
