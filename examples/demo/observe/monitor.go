package main

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// podMonitor is what this program needs of a PodMonitor of Prometheus Operator with one endpoint.
type podMonitor struct {
	Metadata struct{ Name string }
	Spec     struct {
		NamespaceSelector   struct{ MatchNames []string }
		Selector            struct{ MatchLabels map[string]string }
		PodMetricsEndpoints []endpoint
	}
}

type endpoint struct {
	Port, Path, Interval string
	Relabelings          []relabeling
}

// target is what a PodMonitor makes of a pod.
type target struct {
	url      string
	interval time.Duration
	labels   map[string]string
}

// readMonitor finds a PodMonitor in a file of several objects.
func readMonitor(path, name string) (*podMonitor, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("--monitors: %w", err)
	}
	for _, document := range strings.Split("\n"+string(data), "\n---") {
		m := &podMonitor{}
		if err := yaml.Unmarshal([]byte(document), m); err != nil {
			return nil, fmt.Errorf("--monitors %s: %w", path, err)
		}
		if m.Metadata.Name == name {
			if len(m.Spec.PodMetricsEndpoints) != 1 {
				return nil, fmt.Errorf("PodMonitor %s has %d endpoints, expected one", name, len(m.Spec.PodMetricsEndpoints))
			}
			return m, nil
		}
	}
	return nil, fmt.Errorf("--monitors %s: PodMonitor %q is not there; are exporters on in the settings, and monitoring.podMonitor?", path, name)
}

// target of a pod, with the labels that Prometheus Operator gives it first (namespace, pod, container, endpoint, job) and the
// PodMonitor's rules then.
func (m *podMonitor) target(pod *corev1.Pod) (*target, error) {
	spec := m.Spec.PodMetricsEndpoints[0]
	if !slices.Contains(m.Spec.NamespaceSelector.MatchNames, pod.Namespace) {
		return nil, fmt.Errorf("PodMonitor %s selects pods of %v, not of %s", m.Metadata.Name, m.Spec.NamespaceSelector.MatchNames, pod.Namespace)
	}
	for key, value := range m.Spec.Selector.MatchLabels {
		if pod.Labels[key] != value {
			return nil, fmt.Errorf("PodMonitor %s selects pods with the label %s=%s, pod %s has %q", m.Metadata.Name, key, value, pod.Name, pod.Labels[key])
		}
	}
	container, port := portOf(pod, spec.Port)
	if port == 0 || pod.Status.PodIP == "" {
		return nil, fmt.Errorf("pod %s has no port %q, or no address yet (%q)", pod.Name, spec.Port, pod.Status.PodIP)
	}
	interval, err := time.ParseDuration(spec.Interval)
	if err != nil || interval <= 0 {
		return nil, fmt.Errorf("PodMonitor %s: interval %q is no duration", m.Metadata.Name, spec.Interval)
	}
	address := net.JoinHostPort(pod.Status.PodIP, strconv.Itoa(int(port)))
	labels := map[string]string{"instance": address, "namespace": pod.Namespace, "pod": pod.Name, "container": container,
		"endpoint": spec.Port, "job": pod.Namespace + "/" + m.Metadata.Name, "__meta_kubernetes_pod_node_name": pod.Spec.NodeName}
	for key, value := range pod.Labels {
		labels["__meta_kubernetes_pod_label_"+notInNames.ReplaceAllString(key, "_")] = value
	}
	for _, r := range spec.Relabelings {
		if err := r.apply(labels); err != nil {
			return nil, fmt.Errorf("PodMonitor %s: %w", m.Metadata.Name, err)
		}
	}
	for name := range labels {
		if strings.HasPrefix(name, "__") {
			delete(labels, name)
		}
	}
	path := spec.Path
	if path == "" {
		path = "/metrics"
	}
	return &target{url: "http://" + address + path, interval: interval, labels: labels}, nil
}

var notInNames = regexp.MustCompile(`[^a-zA-Z0-9_]`)

func portOf(pod *corev1.Pod, name string) (container string, port int32) {
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, p := range c.Ports {
			if p.Name == name {
				return c.Name, p.ContainerPort
			}
		}
	}
	return "", 0
}
