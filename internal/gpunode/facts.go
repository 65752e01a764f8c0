package gpunode

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
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

func nodeRuntime(n *corev1.Node) *v1alpha1.NodeRuntime {
	info := n.Status.NodeInfo
	return &v1alpha1.NodeRuntime{
		KubeletVersion:   info.KubeletVersion,
		ContainerRuntime: info.ContainerRuntimeVersion,
		OSImage:          info.OSImage,
		KernelVersion:    info.KernelVersion,
		CDI:              cdiPossible(info.ContainerRuntimeVersion),
	}
}

// cdiPossible tells from the runtime's version whether it injects CDI devices. containerd has CDI since 1.7, off unless
// configured, and on by default since 2.0; CRI-O has had it on since 1.23.
func cdiPossible(runtime string) metav1.ConditionStatus {
	name, text, _ := strings.Cut(runtime, "://")
	v, err := version.ParseGeneric(strings.TrimPrefix(text, "v"))
	if err != nil {
		return metav1.ConditionUnknown
	}
	at := func(major, minor uint) bool { return v.AtLeast(version.MajorMinor(major, minor)) }
	switch {
	case name == "containerd" && at(2, 0), name == "cri-o" && at(1, 23):
		return metav1.ConditionTrue
	case name == "containerd" && !at(1, 7), name == "cri-o":
		return metav1.ConditionFalse
	}
	return metav1.ConditionUnknown
}

// pluginResources lists the extended resources of device plugins that DRA replaces and that the node still advertises: the
// scheduler would then give the same card to a pod that asks for the resource and to a claim.
func pluginResources(in Input) []v1alpha1.PluginResource {
	var out []v1alpha1.PluginResource
	for name, q := range in.Node.Status.Allocatable {
		if q.Sign() > 0 && slices.ContainsFunc(in.Profiles.All(), func(d *profile.Driver) bool {
			return slices.ContainsFunc(d.PluginResources, func(p string) bool { return matches(p, string(name)) })
		}) {
			out = append(out, v1alpha1.PluginResource{Name: string(name), Allocatable: q.Value()})
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.PluginResource) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// managers lists the traces of other managers that the Node itself shows.
func managers(in Input, plugins []v1alpha1.PluginResource) []v1alpha1.Manager {
	var out []v1alpha1.Manager
	for _, p := range plugins {
		out = append(out, v1alpha1.Manager{Name: "device-plugin", Evidence: fmt.Sprintf("allocatable %s: %d", p.Name, p.Allocatable)})
	}
	traces := slices.Clone(in.Distribution.Managers)
	for _, d := range in.Profiles.All() {
		traces = append(traces, d.Managers...)
	}
	for _, t := range traces {
		value, ok := in.Node.Labels[t.NodeLabel]
		if t.NodeLabel == "" || !ok || (len(t.NodeLabelValues) > 0 && !slices.Contains(t.NodeLabelValues, value)) {
			continue
		}
		out = append(out, v1alpha1.Manager{Name: t.Name, Evidence: fmt.Sprintf("label %s=%s", t.NodeLabel, value)})
	}
	slices.SortFunc(out, func(a, b v1alpha1.Manager) int {
		return strings.Compare(a.Name+"\x00"+a.Evidence, b.Name+"\x00"+b.Evidence)
	})
	return slices.Compact(out)
}
