package platform

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// taints of the NodeGroup's node template, sorted. Items of another shape than a taint's are left out: the NodeGroup is not
// ours to judge.
func taints(group *unstructured.Unstructured) []corev1.Taint {
	items, _, err := unstructured.NestedSlice(group.Object, "spec", "nodeTemplate", "taints")
	if err != nil {
		return nil
	}
	var out []corev1.Taint
	for _, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			continue
		}
		key, _ := fields["key"].(string)
		value, _ := fields["value"].(string)
		effect, _ := fields["effect"].(string)
		if key != "" && effect != "" {
			out = append(out, corev1.Taint{Key: key, Value: value, Effect: corev1.TaintEffect(effect)})
		}
	}
	slices.SortFunc(out, func(a, b corev1.Taint) int { return strings.Compare(a.ToString(), b.ToString()) })
	return slices.Compact(out)
}

// kubeletRootDir is where the platform keeps the kubelet's files on the group's nodes.
func kubeletRootDir(group *unstructured.Unstructured) string {
	dir, _, err := unstructured.NestedString(group.Object, "spec", "kubelet", "rootDir")
	if err != nil {
		return ""
	}
	return dir
}
