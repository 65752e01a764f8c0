package manager_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/manager"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func node(labels map[string]string, allocatable map[string]string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: labels}}
	n.Status.Allocatable = corev1.ResourceList{}
	for name, q := range allocatable {
		n.Status.Allocatable[corev1.ResourceName(name)] = resource.MustParse(q)
	}
	return n
}

func TestPluginResources(t *testing.T) {
	n := node(nil, map[string]string{
		"cpu": "96", "acme.example/npu": "8", "acme.example/npu.shared": "4", "acme.example/part-1g": "2", "acme.example/part-2g": "0",
	})
	// What is left of a plugin that is gone.
	n.Status.Capacity = corev1.ResourceList{"acme.example/part-2g": resource.MustParse("7")}
	for name, c := range map[string]struct {
		patterns []string
		want     []v1alpha1.PluginResource
	}{
		"nothing is looked for":          {nil, nil},
		"an exact name is no prefix":     {[]string{"acme.example/npu"}, []v1alpha1.PluginResource{{Name: "acme.example/npu", Allocatable: 8}}},
		"a prefix, and zero is none":     {[]string{"acme.example/part-*"}, []v1alpha1.PluginResource{{Name: "acme.example/part-1g", Allocatable: 2}}},
		"a prefix is no pattern inside":  {[]string{"acme.example/*-1g"}, nil},
		"another vendor's":               {[]string{"other.example/npu", "other.example/*"}, nil},
		"sorted, and each resource once": {[]string{"acme.example/part-*", "acme.example/npu", "acme.example/np*"}, []v1alpha1.PluginResource{{Name: "acme.example/npu", Allocatable: 8}, {Name: "acme.example/npu.shared", Allocatable: 4}, {Name: "acme.example/part-1g", Allocatable: 2}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, manager.PluginResources(n, c.patterns))
		})
	}
}

func TestLabel(t *testing.T) {
	n := node(map[string]string{"acme.example/managed": "true", "acme.example/empty": ""}, nil)
	for name, c := range map[string]struct {
		trace profile.ManagerTrace
		want  string
	}{
		"any value":            {profile.ManagerTrace{NodeLabel: "acme.example/managed"}, "acme.example/managed=true"},
		"one of the values":    {profile.ManagerTrace{NodeLabel: "acme.example/managed", NodeLabelValues: []string{"yes", "true"}}, "acme.example/managed=true"},
		"none of the values":   {profile.ManagerTrace{NodeLabel: "acme.example/managed", NodeLabelValues: []string{"false"}}, ""},
		"a label with no text": {profile.ManagerTrace{NodeLabel: "acme.example/empty"}, "acme.example/empty="},
		"no such label":        {profile.ManagerTrace{NodeLabel: "acme.example/other"}, ""},
		"no label at all":      {profile.ManagerTrace{API: "acme.example/v1/Policy"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			label, found := manager.Label(n, c.trace)
			require.Equal(t, c.want, label)
			require.Equal(t, c.want != "", found)
		})
	}
}

func TestSeen(t *testing.T) {
	n := node(map[string]string{"b.example/on": "1", "a.example/on": "1"}, nil)
	traces := []profile.ManagerTrace{
		{Name: "operator", NodeLabel: "b.example/on"},
		{Name: "operator", NodeLabel: "a.example/on"},
		{Name: "operator", NodeLabel: "a.example/on", NodeLabelValues: []string{"1"}},
		{Name: "operator", Namespace: "operator-system"},
		{Name: "absent", NodeLabel: "c.example/on"},
	}
	require.Equal(t, []v1alpha1.Manager{
		{Name: "device-plugin", Evidence: "allocatable acme.example/npu: 8"},
		{Name: "operator", Evidence: "label a.example/on=1"},
		{Name: "operator", Evidence: "label b.example/on=1"},
	}, manager.Seen(n, []v1alpha1.PluginResource{{Name: "acme.example/npu", Allocatable: 8}}, traces))
	require.Empty(t, manager.Seen(node(nil, nil), nil, traces))
}
