package platform

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/reservation"
)

func TestReservation(t *testing.T) {
	block := map[string]any{"mode": "Static", "static": map[string]any{"memory": int64(1 << 40), "cpu": "2"}}
	whole := group("whole", "1", map[string]any{"kubelet": map[string]any{
		"resourceReservation": block, "topologyManager": map[string]any{"enabled": true, "policy": "None"},
	}})
	whole.SetAnnotations(map[string]string{reservation.AnnotationKey: "{}", "other": "x"})
	r := reader(nil, whole,
		group("off", "2", map[string]any{"kubelet": map[string]any{"topologyManager": map[string]any{"enabled": false}}}),
		group("odd", "3", map[string]any{"kubelet": "no object"}),
		group("bare", "4", nil))
	got := NodeGroups(context.Background(), r, distribution, nil, []string{"whole", "off", "odd", "bare"})
	version := got["whole"].NodeGroup.ResourceVersion
	require.NotEmpty(t, version, "a patch is refused if the object has changed since")
	require.Equal(t, reservation.NodeGroup{Name: "whole", ResourceVersion: version, Reservation: block, TopologyManager: true, Annotation: "{}"}, got["whole"].NodeGroup)
	for _, name := range []string{"off", "odd", "bare"} {
		require.Equal(t, reservation.NodeGroup{Name: name, ResourceVersion: got[name].NodeGroup.ResourceVersion}, got[name].NodeGroup)
	}
}
