package sidecar

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Operation of a JSON patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Patch makes the pod of a verdict out of the one that was given. It only adds, and says nothing of what stays: fields that
// this version of Kubernetes' types does not know are not lost on the way.
func (v Verdict) Patch(given *corev1.Pod) []Operation {
	if v.Pod == nil {
		return nil
	}
	var out []Operation
	out = append(out, addKeys("/metadata/labels", given.Labels, v.Pod.Labels)...)
	out = append(out, addKeys("/metadata/annotations", given.Annotations, v.Pod.Annotations)...)
	out = append(out, addItems("/spec/volumes", v.Pod.Spec.Volumes[len(given.Spec.Volumes):], len(given.Spec.Volumes), "-")...)
	out = append(out, addItems("/spec/imagePullSecrets", v.Pod.Spec.ImagePullSecrets[len(given.Spec.ImagePullSecrets):], len(given.Spec.ImagePullSecrets), "-")...)
	// The new ones stand first, so the last of them is put in first.
	added := v.Pod.Spec.InitContainers[:len(v.Pod.Spec.InitContainers)-len(given.Spec.InitContainers)]
	backwards := make([]corev1.Container, 0, len(added))
	for i := range added {
		backwards = append(backwards, added[len(added)-1-i])
	}
	return append(out, addItems("/spec/initContainers", backwards, len(given.Spec.InitContainers), "0")...)
}

func addKeys(path string, given, wanted map[string]string) []Operation {
	var out []Operation
	if given == nil && len(wanted) > 0 {
		out = append(out, Operation{"add", path, map[string]string{}})
	}
	for _, key := range sorted(wanted) {
		if old, ok := given[key]; !ok || old != wanted[key] {
			escaped := strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
			out = append(out, Operation{"add", path + "/" + escaped, wanted[key]})
		}
	}
	return out
}

func addItems[T any](path string, items []T, there int, at string) []Operation {
	var out []Operation
	if there == 0 && len(items) > 0 {
		out = append(out, Operation{"add", path, []T{}})
	}
	for _, item := range items {
		out = append(out, Operation{"add", path + "/" + at, item})
	}
	return out
}
