package charttest

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

var update = flag.Bool("update", false, "write the golden files")

// builtIn are the profiles that the chart carries, as they stand in the controller's file.
var builtIn = regexp.MustCompile(`(?m)^    drivers:\n(      .*\n)+`)

// dashboardText is the definition of a dashboard.
var dashboardText = regexp.MustCompile(`(?m)^  definition: \|\n(    .*\n)+`)

var checksum = regexp.MustCompile(`checksum/config: "[0-9a-f]{64}"`)

// versions of Kubernetes that the chart supports.
var versions = []string{"v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2"}

// distributions that examples/values has settings for.
var distributions = []string{"deckhouse", "rosa", "vanilla"}

// example reads the settings that docs show for a distribution.
func example(t testing.TB, name string) map[string]any {
	t.Helper()
	return settingsFile(t, filepath.Join(Root(), "examples", "values", name+".yaml"))
}

func settingsFile(t testing.TB, path string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	return parse(t, string(data))
}

// underHooks makes addon-operator's values of settings and what the hooks wrote.
func underHooks(t testing.TB, settings map[string]any, internal values.Internal) map[string]any {
	t.Helper()
	data, err := json.Marshal(internal)
	require.NoError(t, err)
	asMap := map[string]any{}
	require.NoError(t, json.Unmarshal(data, &asMap))
	settings["internal"] = asMap
	return map[string]any{"global": map[string]any{}, "gpuDra": settings}
}

// deckhouse is a cluster whose hooks have seen everything.
func deckhouse(t testing.TB, version string, gatesOn bool) Options {
	t.Helper()
	cluster := values.Cluster{
		Observed:             true,
		Distribution:         "Deckhouse",
		KubernetesVersion:    version,
		ForeignDeviceClasses: []string{"mig.nvidia.com"},
		ExtendedResources:    map[string]bool{"acme": gatesOn, "nvidia": gatesOn},
		MonitoringAPIs:       values.MonitoringAPIs{PodMonitor: true, PrometheusRule: true, GrafanaDashboard: true},
	}
	if gatesOn {
		cluster.FeatureGates.On = featuregate.Rendered
	}
	groups := []values.NodeGroup{
		{
			Name: "gpu-a100", Found: true, NodeSelector: map[string]string{"node.deckhouse.io/group": "gpu-a100"},
			Tolerations:    []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "gpu", Effect: corev1.TaintEffectNoExecute}},
			KubeletRootDir: "/data/kubelet", DevicesPerNode: 8,
		},
		{
			Name: "npu", Found: true, NodeSelector: map[string]string{"node.deckhouse.io/group": "npu"},
			KubeletRootDir: "/var/lib/kubelet", CDIOff: true,
		},
	}
	v := underHooks(t, example(t, "deckhouse"), values.Internal{Cluster: cluster, NodeGroups: groups})
	v["gpuDra"].(map[string]any)["registry"] = map[string]any{"base": "registry.deckhouse.example/modules", "dockercfg": "e30=", "scheme": "https"}
	v["global"] = map[string]any{"modulesImages": map[string]any{"digests": map[string]any{"gpuDra": map[string]any{
		"controller": "sha256:" + strings.Repeat("0123456789abcdef", 4)}}}}
	return Options{
		Values: v, KubeVersion: version,
		APIVersions: []string{"deckhouse.io/v1alpha1/ModuleConfig", "autoscaling.k8s.io/v1/VerticalPodAutoscaler", "deckhouse.io/v1alpha1/SecurityPolicyException"},
		Namespace:   "deckhouse", // addon-operator's own namespace, where its releases stand.
	}
}

// plain is a Helm install whose user says which gates are on.
func plain(t testing.TB, name, version string, gatesOn bool) Options {
	t.Helper()
	v := example(t, name)
	if gatesOn {
		gates := map[string]any{}
		for _, gate := range featuregate.Rendered {
			gates[gate] = true
		}
		v["cluster"] = map[string]any{"kubernetesVersion": version, "featureGates": gates}
	}
	return Options{Values: v, KubeVersion: version}
}

// exampleOf is the render of a distribution's example.
func exampleOf(t testing.TB, distribution, version string, gatesOn bool) Options {
	t.Helper()
	if distribution == "deckhouse" {
		return deckhouse(t, version, gatesOn)
	}
	return plain(t, distribution, version, gatesOn)
}

// A version has a golden file of its own only where its render differs from that of the version before.
func TestGolden(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	known := map[string]bool{}
	for _, distribution := range distributions {
		for gates, on := range map[string]bool{"default": false, "on": true} {
			name := distribution + "-gates-" + gates
			t.Run(name, func(t *testing.T) {
				before := ""
				for i, version := range versions {
					got := goldenText(t, chart, exampleOf(t, distribution, version, on), version)
					if got == before {
						continue
					}
					file := name
					if i > 0 {
						file = name + "-" + version
					}
					known[file+".yaml"] = true
					golden(t, filepath.Join("golden", file), got)
					before = got
				}
			})
		}
	}
	t.Run("and no other file", func(t *testing.T) {
		files, err := os.ReadDir(filepath.Join("testdata", "golden"))
		require.NoError(t, err)
		for _, f := range files {
			if *update && !known[f.Name()] {
				require.NoError(t, os.Remove(filepath.Join("testdata", "golden", f.Name())))
				continue
			}
			require.True(t, known[f.Name()], "testdata/golden/%s: its render does not differ from that of the version before; run `make golden-update`", f.Name())
		}
	})
}

// goldenText is a render as it stands in a golden file.
func goldenText(t *testing.T, c *chart.Chart, o Options, version string) string {
	t.Helper()
	documents, notes, err := Render(c, o)
	require.NoError(t, err)
	again, _, err := Render(c, o)
	require.NoError(t, err)
	require.Equal(t, documents, again, "the same twice")
	_, err = Decode(documents)
	require.NoError(t, err)
	got := strings.Join(documents, "---\n") + "---\n# NOTES.txt\n" + comment(notes)
	// The version stands in the settings that the user wrote.
	got = strings.ReplaceAll(got, version, "VERSION")
	// They stand in profiles/drivers; TestControllerHasTheProfiles compares the two.
	require.Len(t, builtIn.FindAllString(got, -1), 1)
	got = builtIn.ReplaceAllString(got, "    drivers: PROFILES\n")
	// They stand in monitoring/dashboards; TestDashboardsAreTheSameEverywhere compares what is rendered.
	got = dashboardText.ReplaceAllString(got, "  definition: DASHBOARD\n")
	// The digest of the configuration follows from the configuration, which stands in the file too.
	return checksum.ReplaceAllString(got, "checksum/config: CHECKSUM")
}

func comment(s string) string {
	return strings.ReplaceAll("# "+strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n# ")+"\n", "# \n", "#\n")
}

// golden compares a text with the file of that name below testdata, or writes it there.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run `make golden-update`")
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s: run `make golden-update` if this is meant (- golden, + rendered):\n%s", path, diff)
	}
}
