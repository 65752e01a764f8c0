package nodegroups

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// entry is what templates learn of a group. Nothing in it follows raw counts: every change is a new Helm revision, and a
// reboot must not be one. What the NodeGroup says stays as it was known while it cannot be read.
func entry(s facts.Settings, g settings.NodeGroup, p nodegroup.Platform, status v1alpha1.GPUNodeGroupStatus, memory nodegroup.Memory, known values.NodeGroup) values.NodeGroup {
	out := values.NodeGroup{
		Memory:         nodeMemory(memory, known.Memory),
		Reservation:    advice(memory, known.Reservation),
		Name:           g.Name,
		Found:          p.Lookup == nodegroup.Found,
		Tolerations:    tolerations(p.Taints, g.Tolerations),
		KubeletRootDir: cmp.Or(g.KubeletRootDir, p.KubeletRootDir, s.Distribution.KubeletRootDir),
		Passive:        g.Passive,
		DevicesPerNode: status.DevicesPerNode,
	}
	if selector, ok := g.Selector(s.Distribution); ok {
		out.NodeSelector = selector.MatchLabels
	}
	for _, name := range g.Drivers {
		if _, ok := s.Profiles.ByName(name); ok {
			out.Drivers = append(out.Drivers, name)
		}
	}
	slices.Sort(out.Drivers)
	for _, m := range p.Managers {
		out.ManagedElsewhere = append(out.ManagedElsewhere, m.Name)
	}
	slices.Sort(out.ManagedElsewhere)
	out.ManagedElsewhere = slices.Compact(out.ManagedElsewhere)
	if p.Lookup == nodegroup.Unreadable && known.Name == g.Name {
		out.Found = known.Found
		out.Tolerations = known.Tolerations
		out.KubeletRootDir = cmp.Or(g.KubeletRootDir, known.KubeletRootDir, out.KubeletRootDir)
		out.ManagedElsewhere = known.ManagedElsewhere
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
