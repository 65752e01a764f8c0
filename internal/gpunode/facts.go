package gpunode

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/manager"
)

// DevicesText is the short text of a column: the number of cards, and how they are published where that is not simply whole.
func DevicesText(total v1alpha1.DeviceCounts, groups []v1alpha1.DeviceGroup) string {
	var parts int32
	for _, g := range groups {
		if g.Kind == v1alpha1.DevicePartition {
			parts += g.Count
		}
	}
	if parts == 0 {
		return fmt.Sprint(total.Physical)
	}
	return fmt.Sprintf("%d (%d whole, %d parts)", total.Physical, total.AllocatableWhole, parts)
}

func memory(n *corev1.Node) *v1alpha1.NodeMemory {
	capacity, ok := n.Status.Capacity[corev1.ResourceMemory]
	if !ok {
		return nil
	}
	m := &v1alpha1.NodeMemory{Capacity: capacity, Allocatable: n.Status.Allocatable[corev1.ResourceMemory]}
	huge := resource.Quantity{Format: resource.BinarySI}
	for name, q := range n.Status.Capacity {
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			huge.Add(q)
		}
	}
	if !huge.IsZero() {
		m.HugePages = &huge
	}
	return m
}

func pluginResources(in Input) []v1alpha1.PluginResource {
	var patterns []string
	for _, d := range in.Profiles.All() {
		patterns = append(patterns, d.PluginResources...)
	}
	return manager.PluginResources(in.Node, patterns)
}

// managers lists the traces of other managers that the Node itself shows.
func managers(in Input, plugins []v1alpha1.PluginResource) []v1alpha1.Manager {
	traces := slices.Clone(in.Distribution.Managers)
	for _, d := range in.Profiles.All() {
		traces = append(traces, d.Managers...)
	}
	return manager.Seen(in.Node, plugins, traces)
}
