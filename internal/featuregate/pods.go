package featuregate

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// inPods are the components whose flags are read from pods. A kubelet is no pod.
var inPods = []string{APIServer, ControllerManager, Scheduler}

// FromPods reads the command lines of control plane pods: their instances by component, sorted by name. serverVersion is that of the API
// server that answered, empty where none did.
func FromPods(pods []*corev1.Pod, where profile.ControlPlanePods, serverVersion string) []Instance {
	byComponent := map[string][]*corev1.Pod{}
	for _, p := range pods {
		// One that is being replaced by another of its name says what was.
		if name := p.Labels[where.Label]; slices.Contains(inPods, name) && p.DeletionTimestamp == nil {
			byComponent[name] = append(byComponent[name], p)
		}
	}
	var out []Instance
	for _, component := range inPods {
		list := byComponent[component]
		slices.SortFunc(list, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
		for _, p := range list {
			c := containerOf(p, component)
			if c == nil {
				continue
			}
			version := versionOf(p, c, where.VersionAnnotation)
			if version == "" && component == APIServer && len(list) == 1 {
				// It is the one that answered.
				version = serverVersion
			}
			out = append(out, NewInstance(component, p.Name, version, slices.Concat(c.Command, c.Args)))
		}
	}
	return out
}

// containerOf a pod that runs the component: the one of its name, or the only one.
func containerOf(p *corev1.Pod, component string) *corev1.Container {
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
		if _, ok := Minor(v); ok {
			return v
		}
	}
	image, _, _ := strings.Cut(c.Image, "@")
	_, tag, _ := strings.Cut(image[strings.LastIndex(image, "/")+1:], ":")
	if _, ok := Minor(tag); ok {
		return tag
	}
	return ""
}
