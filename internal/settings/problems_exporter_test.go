package settings

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func TestExporterImagesTooOldForDRA(t *testing.T) {
	old := DriverConfig{Exporter: &DriverExporter{Image: &Image{Tag: "4.5.3-4.8.2"}}}
	s := &Settings{
		Drivers:    map[string]DriverConfig{"nvidia": old, "example": old, "nobody": old, "amd": {}},
		NodeGroups: []NodeGroup{{Name: "a", NodeSelector: map[string]string{"a": "b"}, Drivers: []string{"nvidia"}, DriverOverrides: map[string]DriverConfig{"nvidia": old}}},
	}
	set, _ := Profiles(s)
	got := lines(Problems(s, set, profile.Distribution{Name: "Vanilla"}))
	want := `found "4.5.3-4.8.2", expected version 4.8.3 or newer: an older exporter does not work with DRA`
	require.Contains(t, got, "drivers.nvidia.exporter.image.tag: "+want)
	require.Contains(t, got, "nodeGroups[0].driverOverrides.nvidia.exporter.image.tag: "+want)
	require.Len(t, got, 3, "and the driver that nobody knows")
}

func TestProfilingMetricsInSidecars(t *testing.T) {
	s := &Settings{Exporter: Exporter{Mode: "Sidecar", Metrics: "Custom", CustomMetrics: []string{"DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_PROF_SM_ACTIVE", "GPU_PROF_X"}}}
	set, _ := Profiles(s)
	vanilla := profile.Distribution{Name: "Vanilla"}
	require.Equal(t, []string{`exporter.customMetrics[1]: found "DCGM_FI_PROF_SM_ACTIVE", a profiling metric of the driver nvidia, ` +
		"expected none with exporter.mode Sidecar: one process on a card can serve them; use the mode DaemonSet"}, lines(Problems(s, set, vanilla)))
	s.Exporter.Mode = "DaemonSet"
	require.Empty(t, Problems(s, set, vanilla))
	s.Exporter.Mode, s.Exporter.Metrics = "Sidecar", "Default"
	require.Empty(t, Problems(s, set, vanilla), "the names count with Custom only")
}
