package podspec

import (
	"fmt"
	"regexp"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

type variable struct{ name, value string }

// podFields are the answers of the downward API to a Pod.
func podFields(pod *corev1.Pod) map[string]string {
	return map[string]string{
		"metadata.namespace":      pod.Namespace,
		"metadata.name":           pod.Name,
		"metadata.uid":            string(pod.UID),
		"spec.nodeName":           pod.Spec.NodeName,
		"spec.serviceAccountName": pod.Spec.ServiceAccountName,
		"status.podIP":            "127.0.0.1",
		"status.hostIP":           "127.0.0.1",
	}
}

// hostNetworkFields are what a Pod on the host network of this machine would be told: the
// process has no Pod.
func hostNetworkFields(namespace string) map[string]string {
	return map[string]string{
		"metadata.namespace": namespace,
		"metadata.name":      PodName,
		"metadata.uid":       PodName,
		"spec.nodeName":      "control-plane",
		"status.podIP":       "127.0.0.1",
		"status.hostIP":      "127.0.0.1",
	}
}

func environment(fields map[string]string, container corev1.Container, objects Objects) ([]variable, error) {
	if len(container.EnvFrom) > 0 {
		return nil, fmt.Errorf("container %s: envFrom is not known here: name the variables in env", container.Name)
	}
	var env []variable
	for _, e := range container.Env {
		value := expand(e.Value, env)
		if e.ValueFrom != nil {
			var err error
			if value, err = from(fields, container, e.ValueFrom, objects); err != nil {
				return nil, fmt.Errorf("container %s, variable %s: %w", container.Name, e.Name, err)
			}
		}
		env = append(env, variable{e.Name, value})
	}
	return env, nil
}

func from(fields map[string]string, container corev1.Container, source *corev1.EnvVarSource, objects Objects) (string, error) {
	switch {
	case source.FieldRef != nil:
		value, ok := fields[source.FieldRef.FieldPath]
		if !ok {
			return "", fmt.Errorf("field %s is not known here", source.FieldRef.FieldPath)
		}
		return value, nil
	case source.ResourceFieldRef != nil:
		return quantity(container.Resources, source.ResourceFieldRef)
	case source.ConfigMapKeyRef != nil:
		object, err := objects.ConfigMap(source.ConfigMapKeyRef.Name)
		if err != nil {
			return "", err
		}
		return object.Data[source.ConfigMapKeyRef.Key], nil
	case source.SecretKeyRef != nil:
		object, err := objects.Secret(source.SecretKeyRef.Name)
		if err != nil {
			return "", err
		}
		return string(object.Data[source.SecretKeyRef.Key]), nil
	}
	return "", fmt.Errorf("its source is not known here: %v", source)
}

// quantity rounds up to whole divisors, as the kubelet does.
func quantity(resources corev1.ResourceRequirements, ref *corev1.ResourceFieldSelector) (string, error) {
	values := map[string]*resource.Quantity{
		"limits.cpu":      resources.Limits.Cpu(),
		"limits.memory":   resources.Limits.Memory(),
		"requests.cpu":    resources.Requests.Cpu(),
		"requests.memory": resources.Requests.Memory(),
	}
	value, ok := values[ref.Resource]
	if !ok || value.IsZero() {
		return "", fmt.Errorf("resource %s is not set in the container", ref.Resource)
	}
	divisor := ref.Divisor.MilliValue()
	if divisor == 0 {
		divisor = 1000
	}
	return strconv.FormatInt((value.MilliValue()+divisor-1)/divisor, 10), nil
}

var reference = regexp.MustCompile(`\$\$|\$\([A-Za-z_][A-Za-z0-9_.-]*\)`)

// expand replaces $(NAME) as Kubernetes does: unknown names stay, $$ is one $.
func expand(text string, env []variable) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if found == "$$" {
			return "$"
		}
		name := found[2 : len(found)-1]
		for i := len(env) - 1; i >= 0; i-- {
			if env[i].name == name {
				return env[i].value
			}
		}
		return found
	})
}
