//go:build bench

package bench

import (
	"context"
	"fmt"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/internal/fleet"
)

// writers at a time, when a fleet is made.
const writers = 8

// node is the i-th of a fleet. No kwok looks after it, so that nothing changes it once it is there.
func node(i int) *corev1.Node {
	return fleet.Node(nodeName(i), map[string]string{groupLabel: groupName(i)})
}

// driverPod is the pod of the driver on the i-th node, as the chart's DaemonSet would make it: nobody runs DaemonSets here.
func driverPod(i int) *corev1.Pod {
	const component = "driver-nvidia"
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("%s-%s-%05d", component, groupName(i), i), Namespace: namespace,
			Labels: map[string]string{"app.kubernetes.io/name": "gpu-dra", "app.kubernetes.io/component": component},
		},
		Spec: corev1.PodSpec{
			NodeName: nodeName(i), ServiceAccountName: component + "-" + groupName(i), AutomountServiceAccountToken: ptr.To(false),
			Containers: []corev1.Container{{Name: "plugin", Image: "registry.example/plugin:v1"}},
		},
	}
}

// running makes a driver's pod one that runs.
func (r *rig) running(ctx context.Context, pod *corev1.Pod) error {
	made, err := r.typed.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	made.Status.Phase = corev1.PodRunning
	made.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	_, err = r.typed.CoreV1().Pods(namespace).UpdateStatus(ctx, made, metav1.UpdateOptions{})
	return err
}

// populate makes the nodes [from, to) with the driver's pod and the slices that it would publish.
func (r *rig) populate(from, to int, layout fleet.Layout) {
	r.t.Helper()
	m, err := fleet.Load(model)
	require.NoError(r.t, err)
	start := time.Now()
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(writers)
	for i := from; i < to; i++ {
		group.Go(func() error {
			n, err := r.typed.CoreV1().Nodes().Create(ctx, node(i), metav1.CreateOptions{})
			if err != nil {
				return err
			}
			if err := r.running(ctx, driverPod(i)); err != nil {
				return err
			}
			slices, err := m.Slices(n, layout)
			if err != nil {
				return err
			}
			for _, s := range slices {
				if _, err := r.typed.ResourceV1().ResourceSlices().Create(ctx, s, metav1.CreateOptions{}); err != nil {
					return err
				}
			}
			if layout.CutCards == 0 {
				return nil
			}
			return r.claim(ctx, n.Name, slices[0])
		})
	}
	require.NoError(r.t, group.Wait())
	r.t.Logf("%s: %d nodes with their slices made in %.1f s", r.name, to-from, time.Since(start).Seconds())
}

// claim makes a claim for each of the first devices of a node's slice, one a card of an uncut node, allocated and in use. Only
// fleets of partitions have them, since it takes minutes.
func (r *rig) claim(ctx context.Context, node string, slice *resourcev1.ResourceSlice) error {
	claims := r.typed.ResourceV1().ResourceClaims(metav1.NamespaceDefault)
	for i := range cards {
		name := fmt.Sprintf("%s-%d", node, i)
		c := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "engine"}}}
		c.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "mig.nvidia.com"}}}
		made, err := claims.Create(ctx, c, metav1.CreateOptions{})
		if err != nil {
			return err
		}
		made.Status.Allocation = &resourcev1.AllocationResult{
			Devices: resourcev1.DeviceAllocationResult{Results: []resourcev1.DeviceRequestAllocationResult{
				{Request: "gpu", Driver: slice.Spec.Driver, Pool: slice.Spec.Pool.Name, Device: slice.Spec.Devices[i].Name}}},
			NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{
				{Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node}}}}}},
		}
		made.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: name, UID: made.UID}}
		if _, err := claims.UpdateStatus(ctx, made, metav1.UpdateOptions{}); err != nil {
			return err
		}
	}
	return nil
}

// publisher changes what the driver of one node publishes, as a driver does: the next generation in the place of the last.
type publisher struct {
	rig   *rig
	model *fleet.Model
	node  *corev1.Node
	slice *resourcev1.ResourceSlice
}

func (r *rig) publisher(i int) *publisher {
	r.t.Helper()
	m, err := fleet.Load(model)
	require.NoError(r.t, err)
	p := &publisher{rig: r, model: m}
	p.node, err = r.typed.CoreV1().Nodes().Get(context.Background(), nodeName(i), metav1.GetOptions{})
	require.NoError(r.t, err)
	list, err := r.typed.ResourceV1().ResourceSlices().List(context.Background(), metav1.ListOptions{FieldSelector: "spec.nodeName=" + p.node.Name})
	require.NoError(r.t, err)
	require.Len(r.t, list.Items, 1)
	p.slice = &list.Items[0]
	return p
}

// publish so many whole cards; returns when the request was sent.
func (p *publisher) publish(cards int) time.Time {
	p.rig.t.Helper()
	slices, err := p.model.Slices(p.node, fleet.Layout{Cards: cards})
	require.NoError(p.rig.t, err)
	require.Len(p.rig.t, slices, 1)
	p.slice.Spec.Pool.Generation++
	p.slice.Spec.Devices = slices[0].Spec.Devices
	sent := time.Now()
	p.slice, err = p.rig.typed.ResourceV1().ResourceSlices().Update(context.Background(), p.slice, metav1.UpdateOptions{})
	require.NoError(p.rig.t, err)
	return sent
}
