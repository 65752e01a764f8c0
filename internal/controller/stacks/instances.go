package stacks

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// components are those whose flags are read from pods. A kubelet is no pod.
var components = []string{featuregate.APIServer, featuregate.ControllerManager, featuregate.Scheduler}

// instances reads the command lines of control plane pods, sorted by name.
func instances(pods []*corev1.Pod, where profile.ControlPlanePods, serverVersion string) []featuregate.Instance {
	byComponent := map[string][]*corev1.Pod{}
	for _, p := range pods {
		// One that is being replaced by another of its name says what was.
		if name := p.Labels[where.Label]; slices.Contains(components, name) && p.DeletionTimestamp == nil {
			byComponent[name] = append(byComponent[name], p)
		}
	}
	var out []featuregate.Instance
	for _, component := range components {
		list := byComponent[component]
		slices.SortFunc(list, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		for _, p := range list {
			c := container(p, component)
			if c == nil {
				continue
			}
			version := versionOf(p, c, where.VersionAnnotation)
			if version == "" && component == featuregate.APIServer && len(list) == 1 {
				// It is the one that answered.
				version = serverVersion
			}
			out = append(out, featuregate.NewInstance(component, p.Name, version, slices.Concat(c.Command, c.Args)))
		}
	}
	return out
}

// container of a pod that runs the component: the one of its name, or the only one.
func container(p *corev1.Pod, component string) *corev1.Container {
	for i := range p.Spec.Containers {
		if p.Spec.Containers[i].Name == component {
			return &p.Spec.Containers[i]
		}
	}
	if len(p.Spec.Containers) == 1 {
		return &p.Spec.Containers[0]
	}
	return nil
}

// versionOf a component, from the distribution's annotation or the image's tag. Empty when neither is a Kubernetes version:
// then what the component does by default is not known.
func versionOf(p *corev1.Pod, c *corev1.Container, annotation string) string {
	if v := p.Annotations[annotation]; annotation != "" {
		if _, ok := featuregate.Minor(v); ok {
			return v
		}
	}
	image, _, _ := strings.Cut(c.Image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if _, ok := featuregate.Minor(tag); ok {
		return tag
	}
	return ""
}
