// Package manager tells from a Node who else hands out its accelerators: a device plugin, by the resources that the Node
// advertises, or another installation, by a label. GPUNode shows what it finds, and the guard keeps a driver from starting.
package manager

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// DevicePlugin is the name of a manager that is known by its resources only.
const DevicePlugin = "device-plugin"

// PluginResources lists the extended resources that the Node advertises and that one of the patterns names (as
// profile.Driver.PluginResources), sorted: the scheduler would give the same card to a pod that asks for the resource and to
// a claim.
//
// Allocatable is what the scheduler counts, and it is zero as soon as the plugin is gone. The capacity stays for five minutes
// more (kubernetes/kubernetes pkg/kubelet/cm/devicemanager/types.go, endpointStopGracePeriod).
func PluginResources(node *corev1.Node, patterns []string) []v1alpha1.PluginResource {
	var out []v1alpha1.PluginResource
	for name, q := range node.Status.Allocatable {
		if q.Sign() > 0 && slices.ContainsFunc(patterns, func(p string) bool { return matches(p, string(name)) }) {
			out = append(out, v1alpha1.PluginResource{Name: string(name), Allocatable: q.Value()})
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.PluginResource) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Advertises says whether one of the resources is one that the patterns name.
func Advertises(resources []v1alpha1.PluginResource, patterns []string) bool {
	return slices.ContainsFunc(resources, func(r v1alpha1.PluginResource) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, r.Name) })
	})
}

func matches(pattern, name string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return pattern == name
}

// Label returns the label of the Node that is the trace, as key=value. A trace that is no label of a Node is not found.
func Label(node *corev1.Node, t profile.ManagerTrace) (string, bool) {
	value, ok := node.Labels[t.NodeLabel]
	if t.NodeLabel == "" || !ok || (len(t.NodeLabelValues) > 0 && !slices.Contains(t.NodeLabelValues, value)) {
		return "", false
	}
	return t.NodeLabel + "=" + value, true
}

// Seen lists the managers whose traces the Node itself shows, each trace once, sorted. Plugins are what PluginResources found.
func Seen(node *corev1.Node, plugins []v1alpha1.PluginResource, traces []profile.ManagerTrace) []v1alpha1.Manager {
	var out []v1alpha1.Manager
	for _, p := range plugins {
		out = append(out, v1alpha1.Manager{Name: DevicePlugin, Evidence: fmt.Sprintf("allocatable %s: %d", p.Name, p.Allocatable)})
	}
	for _, t := range traces {
		if label, ok := Label(node, t); ok {
			out = append(out, v1alpha1.Manager{Name: t.Name, Evidence: "label " + label})
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.Manager) int {
		return strings.Compare(a.Name+"\x00"+a.Evidence, b.Name+"\x00"+b.Evidence)
	})
	return slices.Compact(out)
}
