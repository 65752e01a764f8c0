package stacks

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/deviceclass"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/inventory"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// Local is what informers beside the client's cache hold.
type Local struct {
	// ClusterWide returns what belongs to no node.
	ClusterWide func() (inventory.ClusterWide, error)
	// ControlPlane returns the pods of the control plane, or why they could not be read.
	ControlPlane func() ([]*corev1.Pod, error)
	// Claims says why ResourceClaims could not be read, nil once they were and while they are being read.
	Claims func() error
}

// input gathers what is known. Facts from the cache are there, or the controller would not run; all others may be in doubt.
func (r *Reconciler) input(ctx context.Context, synced bool) (stack.Input, error) {
	in := stack.Input{
		SettingsHash:      r.SettingsHash,
		Synced:            synced,
		ControllerVersion: r.Version,
		Problems:          r.Problems,
		Settings:          r.Settings,
		Profiles:          r.Profiles,
		Distribution:      r.Distribution,
		Unreadable:        map[stack.Fact]string{},
	}
	if reason := r.Unreadable(); reason != "" {
		in.Unreadable[stack.FactSettings] = reason
	}
	gpuNodes := &v1alpha1.GPUNodeList{}
	if err := r.Client.List(ctx, gpuNodes); err != nil {
		return in, fmt.Errorf("GPUNodes: %w", err)
	}
	in.Nodes = gpuNodes.Items
	nodes := &corev1.NodeList{}
	if err := r.Client.List(ctx, nodes); err != nil {
		return in, fmt.Errorf("nodes: %w", err)
	}
	in.Unmanaged = unmanaged(gpuNodes.Items, nodes.Items, r.Distribution.NodeGroupLabel)
	wide, err := r.Local.ClusterWide()
	if err != nil {
		return in, fmt.Errorf("slices: %w", err)
	}
	in.SharedPools, in.UnknownDrivers, in.InlineCounters = wide.SharedPools, wide.UnknownDrivers, wide.InlineCounters
	if in.ForeignDeviceClasses, err = r.foreignClasses(ctx); err != nil {
		return in, fmt.Errorf("device classes: %w", err)
	}
	if in.ClusterManagers, err = r.namespaces(ctx); err != nil {
		return in, fmt.Errorf("namespaces: %w", err)
	}
	r.Remote.fill(ctx, &in)
	if pods, err := r.Local.ControlPlane(); err != nil {
		in.Unreadable[stack.FactInstances] = reason(err)
	} else {
		in.Instances = featuregate.FromPods(pods, r.Distribution.ControlPlanePods, in.KubernetesVersion)
	}
	// After the flags that they are compared with.
	r.Metrics.fill(ctx, &in)
	if err := r.Local.Claims(); err != nil {
		in.Unreadable[stack.FactClaims] = reason(err)
	}
	return in, nil
}

// foreignClasses are the classes that the settings want and somebody else created.
func (r *Reconciler) foreignClasses(ctx context.Context) ([]string, error) {
	list := &resourcev1.DeviceClassList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil, err
	}
	wanted := deviceclass.Wanted(r.Settings, r.Profiles)
	var out []string
	for i := range list.Items {
		if c := &list.Items[i]; wanted[c.Name] && !deviceclass.Ours(c.Labels, r.UnderHooks) {
			out = append(out, c.Name)
		}
	}
	return out, nil
}

// namespaces are the traces of other managers that are a namespace.
func (r *Reconciler) namespaces(ctx context.Context) ([]v1alpha1.Conflict, error) {
	list := &corev1.NamespaceList{}
	if err := r.Client.List(ctx, list); err != nil {
		return nil, err
	}
	var out []v1alpha1.Conflict
	for _, t := range r.traces() {
		if t.Namespace != "" && slices.ContainsFunc(list.Items, func(n corev1.Namespace) bool { return n.Name == t.Namespace }) {
			out = append(out, v1alpha1.Conflict{Manager: t.Name, Evidence: "namespace " + t.Namespace})
		}
	}
	return out, nil
}

// unmanaged groups the nodes with accelerators that no listed group selects by the platform's own groups.
func unmanaged(gpuNodes []v1alpha1.GPUNode, nodes []corev1.Node, label string) []v1alpha1.UnmanagedGroup {
	groupOf := make(map[string]string, len(nodes))
	for i := range nodes {
		groupOf[nodes[i].Name] = nodes[i].Labels[label]
	}
	byName := map[string]*v1alpha1.UnmanagedGroup{}
	for i := range gpuNodes {
		n := &gpuNodes[i]
		group, exists := groupOf[n.Name]
		if len(n.Status.Groups) > 0 || !exists {
			continue
		}
		var drivers []string
		for _, d := range n.Status.Drivers {
			if d.Accelerator {
				drivers = append(drivers, d.Name)
			}
		}
		if len(drivers) == 0 {
			continue
		}
		if byName[group] == nil {
			byName[group] = &v1alpha1.UnmanagedGroup{Name: group}
		}
		byName[group].Nodes++
		byName[group].Drivers = append(byName[group].Drivers, drivers...)
	}
	var out []v1alpha1.UnmanagedGroup
	for _, g := range byName {
		slices.Sort(g.Drivers)
		g.Drivers = slices.Compact(g.Drivers)
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b v1alpha1.UnmanagedGroup) int { return strings.Compare(a.Name, b.Name) })
	return out
}
