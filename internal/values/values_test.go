package values

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/internal/schematest"
	"github.com/gpu-dra/gpu-dra/openapi"
)

func TestTypesMirrorTheSchema(t *testing.T) {
	internal := schematest.Structural(t, openapi.Values).Properties["internal"]
	schematest.Mirror(t, reflect.TypeFor[Internal](), &internal, "internal")
}

// addon-operator puts what a hook wrote in place as it is, and its schema takes no null for a list.
func TestZeroValuesHaveNoNull(t *testing.T) {
	for _, v := range []any{Internal{}, Cluster{}, NodeGroup{}} {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.False(t, strings.Contains(string(data), "null"), "%T: %s", v, data)
	}
}

// full has every field set.
var full = Internal{
	Cluster: Cluster{
		Observed: true, Distribution: "Deckhouse", KubernetesVersion: "v1.34.4",
		FeatureGates:         Gates{Needed: []string{"A"}, On: []string{"A"}, Off: []string{"B"}, Unknown: []string{"C"}},
		ExtendedResources:    map[string]bool{"nvidia": false},
		ForeignDeviceClasses: []string{"gpu.nvidia.com"},
		RefusedDrivers:       []string{"acme"},
		RefusedDeviceClasses: []string{"own.example.com"},
		MonitoringAPIs:       MonitoringAPIs{PodMonitor: true, PrometheusRule: true, GrafanaDashboard: true},
	},
	NodeGroups: []NodeGroup{{
		Name: "gpu-a100", Found: true, NodeSelector: map[string]string{"node.deckhouse.io/group": "gpu-a100"},
		Tolerations:    []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "gpu", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: ptr(int64(30))}},
		KubeletRootDir: "/var/lib/kubelet", DevicesPerNode: 8,
		ManyDevices: true, CDIOff: true,
	}},
	WebhookCertificate: Certificate{CA: "ca", Cert: "crt", Key: "key"},
}

func ptr[T any](v T) *T { return &v }

// The file is what test/operator gives to the real addon-operator's validator, which this module cannot import.
func TestExampleIsCurrent(t *testing.T) {
	want, err := json.MarshalIndent(full, "", "  ")
	require.NoError(t, err)
	if os.Getenv("UPDATE") != "" {
		require.NoError(t, os.WriteFile("testdata/internal.json", append(want, '\n'), 0o600))
	}
	got, err := os.ReadFile("testdata/internal.json")
	require.NoError(t, err)
	require.JSONEq(t, string(want), string(got), "run with UPDATE=1")
}
