package profile

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// rightsOfExporters are the rights that vendors give their exporters, in the words of rightsOfVendors.
var rightsOfExporters = map[string]vendorRights{
	"nvidia": {
		// Its rules are one cross product of groups, resources and verbs; what a reader takes out of them are these two.
		source: "NVIDIA/dcgm-exporter deployment/templates/clusterrole.yaml; internal/pkg/transformation/kubernetes.go starts both watches with DRA on",
		given:  []string{"cluster resource.k8s.io/resourceslices: get list watch", "cluster /pods: get list watch"},
	},
	"amd": {
		source: "ROCm/device-metrics-exporter v1.5.2, helm-charts/templates/metrics-exporter-rbac.yaml",
		given:  []string{"cluster /pods: get list watch", "cluster /nodes: get list watch update", "cluster /events: create"},
		dropped: map[string][]string{
			"pkg/exporter/exporter.go watches pods for ExtraPodLabels, which are not asked for":    {"cluster /pods: get list watch"},
			"pkg/exporter/exporter.go watches nodes for the health service, which is switched off": {"cluster /nodes: list watch"},
			"pkg/client/k8s.go writes a label with the health, of any node; metrics say it, too":   {"cluster /nodes: update"},
			"events tell what the log says": {"cluster /events: create"},
		},
	},
	"intel-gpu": {source: "intel/xpumanager xpumd/charts/xpumd/templates: a ServiceAccount and no role"},
	"ascend":    {source: "MindCluster's manifest of npu-exporter v26.1.0: no ServiceAccount token"},
	"hygon": {
		source: "HYGON-AI hcu-exporter v3.0.0, its manifest: every verb on pods",
		given:  []string{"cluster /pods: get list watch create update patch delete deletecollection"},
		dropped: map[string][]string{
			"it reads pods": {"cluster /pods: create update patch delete deletecollection"},
		},
	},
}

func TestRightsOfExportersAreTheVendorsLessWhatIsNotUsed(t *testing.T) {
	seen := 0
	for _, d := range builtin(t) {
		if d.Exporter == nil {
			continue
		}
		seen++
		vendor, want := rightsLeft(t, rightsOfExporters, d.Name)
		require.ElementsMatch(t, want, sortedKeys(rightsOf(&Plugin{Rules: d.Exporter.Rules})), "%s, compared with %s", d.Name, vendor.source)
	}
	require.Len(t, rightsOfExporters, seen)
}

// What dcgm-exporter needs to tell whose a GPU is: one of these missing, and the metrics have no pods (gpu-operator#2697).
func TestExporterOfNVIDIAHasAllThatDRANeeds(t *testing.T) {
	drivers := builtin(t)
	e := drivers[slices.IndexFunc(drivers, func(d Driver) bool { return d.Name == "nvidia" })].Exporter
	env := map[string]Env{}
	for _, x := range e.Env {
		env[x.Name] = x
	}
	require.Equal(t, "true", env["KUBERNETES_ENABLE_DRA"].Value)
	require.Equal(t, "true", env["DCGM_EXPORTER_KUBERNETES"].Value)
	require.Equal(t, "spec.nodeName", env["NODE_NAME"].Field, "else it watches every pod of the cluster")
	require.False(t, e.TooOld(e.Image.Tag))
	require.True(t, e.TooOld("4.5.3-4.8.2"), "it knows v1beta1 only")
	require.Equal(t, "{kubeletRoot}/pod-resources", e.Mounts[0].HostPath)
	require.Equal(t, e.Mounts[0].Path+"/kubelet.sock", env["DCGM_POD_RESOURCES_KUBELET_SOCKET"].Value)
	require.Zero(t, e.RunAsUser, "the kubelet's socket is root's")
	require.Len(t, e.Rules, 2, "two rules, not one cross product")
	for _, r := range e.Rules {
		require.Len(t, r.APIGroups, 1)
		require.Len(t, r.Resources, 1)
	}
	require.Equal(t, "nvidia.com/gpu", e.Tolerations[0].Key)
	require.Equal(t, []ExporterCapability{{Name: "SYS_ADMIN", Reason: "DCGM reads the profiling counters with it", When: &When{Profiling: true}}}, e.Capabilities)
	for _, c := range e.Metrics.Default {
		require.NotContains(t, c.Name, "_PROF_")
	}
}

// Only profiling metrics are a reason for SYS_ADMIN.
func TestCapabilitiesOfExporters(t *testing.T) {
	for _, d := range builtin(t) {
		if d.Exporter == nil {
			continue
		}
		for _, c := range d.Exporter.Capabilities {
			require.NotNil(t, c.When, "%s: %s", d.Name, c.Name)
			require.True(t, c.When.Profiling, "%s: %s", d.Name, c.Name)
		}
		if s := d.Exporter.Sidecar; s != nil {
			require.Equal(t, s.Resources.Requests, s.Resources.Limits, "%s: or the sidecar changes the pod's QoS class", d.Name)
			require.Contains(t, s.Env, SidecarEnv{Name: "DCGM_EXPORTER_LISTEN", Value: "{listen}"})
			require.Contains(t, s.Env, SidecarEnv{Name: "DCGM_EXPORTER_COLLECTORS", Value: "{config}/counters.csv"}, "without it the image's own list has profiling counters")
			require.Contains(t, d.Exporter.Config.Files, "counters.csv")
		}
	}
}
