package platform

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestNodeTemplate(t *testing.T) {
	r := reader(nil,
		group("whole", "1", map[string]any{
			"kubelet": map[string]any{"rootDir": "/data/kubelet"},
			"nodeTemplate": map[string]any{"taints": []any{
				map[string]any{"key": "z", "effect": "NoExecute"},
				map[string]any{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
				map[string]any{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"},
				map[string]any{"key": "no effect"}, "no taint", nil,
			}},
		}),
		group("odd", "2", map[string]any{"kubelet": "no object", "nodeTemplate": map[string]any{"taints": "no list"}}),
		group("bare", "3", nil))
	got := NodeGroups(context.Background(), r, distribution, nil, []string{"whole", "odd", "bare"})
	require.Equal(t, "/data/kubelet", got["whole"].KubeletRootDir)
	require.Equal(t, []corev1.Taint{
		{Key: "dedicated", Value: "gpu", Effect: corev1.TaintEffectNoSchedule},
		{Key: "z", Effect: corev1.TaintEffectNoExecute},
	}, got["whole"].Taints)
	for _, name := range []string{"odd", "bare"} {
		require.Empty(t, got[name].KubeletRootDir)
		require.Empty(t, got[name].Taints)
	}
}
