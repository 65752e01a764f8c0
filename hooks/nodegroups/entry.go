package nodegroups

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// entry is what templates learn of a group. Nothing in it follows raw counts: every change is a new Helm revision, and a
// reboot must not be one. What the NodeGroup says stays as it was known while it cannot be read.
func entry(in nodegroup.Input, status v1alpha1.GPUNodeGroupStatus, known values.NodeGroup, now time.Time) values.NodeGroup {
	g, p := in.Group, in.Platform
	out := values.NodeGroup{
		Name:           g.Name,
		Found:          p.Lookup == nodegroup.Found,
		Tolerations:    tolerations(p.Taints, g.Tolerations),
		KubeletRootDir: nodegroup.KubeletRootDir(in),
		DevicesPerNode: status.DevicesPerNode,
		ManyDevices:    nodegroup.ManyDevices(in, known.ManyDevices, now),
		CDIOff:         nodegroup.CDIOff(in, known.CDIOff, now),
	}
	if selector, ok := g.Selector(in.Distribution); ok {
		out.NodeSelector = selector.MatchLabels
	}
	if p.Lookup == nodegroup.Unreadable && known.Name == g.Name {
		out.Found = known.Found
		out.Tolerations = known.Tolerations
	}
	return out
}

// tolerations of the platform's taints, then the user's own that are not among them.
func tolerations(taints []corev1.Taint, own []corev1.Toleration) []corev1.Toleration {
	var out []corev1.Toleration
	add := func(t corev1.Toleration) {
		if !slices.ContainsFunc(out, func(o corev1.Toleration) bool { return o.MatchToleration(&t) }) {
			out = append(out, t)
		}
	}
	for _, t := range taints {
		toleration := corev1.Toleration{Key: t.Key, Operator: corev1.TolerationOpEqual, Value: t.Value, Effect: t.Effect}
		if t.Value == "" {
			toleration.Operator = corev1.TolerationOpExists
		}
		add(toleration)
	}
	for _, t := range own {
		add(t)
	}
	return out
}
