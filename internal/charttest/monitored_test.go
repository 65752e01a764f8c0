package charttest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Alerts about an exporter that runs nowhere would never end, and its rules would look for nothing.
func TestOnlyExportersThatRunAreMonitored(t *testing.T) {
	const groups = "nodeGroups: [{name: a, drivers: [nvidia], nodeSelector: {a: a}, passthrough: true}, {name: b, drivers: [intel-gpu], nodeSelector: {a: b}}, {name: c, drivers: [amd], nodeSelector: {a: c}}]\n"
	for more, want := range map[string][]string{
		"":                                {"amd"},
		"exporter: {adminAccess: Always}": {"amd", "intel-gpu"},
		"exporter: {mode: 'Off'}":         nil,
		// No pod has run here yet.
		"exporter: {mode: Sidecar, sidecar: {namespaces: [x]}}": {"amd", "intel-gpu", "nvidia"},
	} {
		monitors, recorded := []string{}, []string{}
		alerts := false
		for _, o := range objects(t, Options{Values: parse(t, groups+more), APIVersions: monitoringAPIs[:2]}) {
			u, ok := o.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			if driver, ok := u.GetLabels()["gpu-dra.deckhouse.io/driver"]; ok && u.GetKind() == "PodMonitor" {
				monitors = append(monitors, driver)
			}
			if u.GetKind() == "PrometheusRule" {
				data, err := json.Marshal(u.Object)
				require.NoError(t, err)
				alerts = strings.Contains(string(data), "GPUDRAExporterDown")
				for _, g := range u.Object["spec"].(map[string]any)["groups"].([]any) {
					if driver, ok := strings.CutPrefix(g.(map[string]any)["name"].(string), "gpu-dra.recorded."); ok {
						recorded = append(recorded, driver)
					}
				}
			}
		}
		slices.Sort(monitors)
		require.ElementsMatch(t, want, recorded, more)
		if strings.Contains(more, "mode") {
			require.Empty(t, monitors, more)
			require.False(t, alerts, more)
			continue
		}
		require.Equal(t, want, monitors, more)
		require.True(t, alerts, more)
	}
	// Where none runs nothing is said of exporters at all.
	for _, o := range objects(t, Options{Values: parse(t, "nodeGroups: [{name: b, drivers: [intel-gpu], nodeSelector: {a: b}}]"), APIVersions: monitoringAPIs[:2]}) {
		if u, ok := o.(*unstructured.Unstructured); ok {
			data, err := json.Marshal(u.Object)
			require.NoError(t, err)
			require.NotContains(t, string(data), "GPUDRAExporterDown")
			require.NotEqual(t, "exporter-intel-gpu", u.GetName())
		}
	}
}
