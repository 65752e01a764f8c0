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
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/values"
)

var update = flag.Bool("update", false, "write the golden files")

var checksum = regexp.MustCompile(`checksum/config: "[0-9a-f]{64}"`)

// versions of Kubernetes that the chart supports.
var versions = []string{"v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2"}

// settingsFile reads settings of the golden renders.
func settingsFile(t testing.TB, name string) map[string]any {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".yaml"))
	require.NoError(t, err)
	out := map[string]any{}
	require.NoError(t, yaml.Unmarshal(data, &out))
	return out
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
		ResourceAPIs:         []string{"v1"},
		ForeignDeviceClasses: []string{"mig.nvidia.com"},
		ExtendedResources:    map[string]bool{"nvidia": gatesOn},
	}
	v := underHooks(t, settingsFile(t, "deckhouse"), values.Internal{Cluster: cluster})
	v["gpuDra"].(map[string]any)["registry"] = map[string]any{"base": "registry.deckhouse.example/modules", "dockercfg": "e30=", "scheme": "https"}
	v["global"] = map[string]any{"modulesImages": map[string]any{"digests": map[string]any{"gpuDra": map[string]any{
		"controller": "sha256:" + strings.Repeat("0123456789abcdef", 4)}}}}
	return Options{
		Values: v, KubeVersion: version,
		APIVersions: []string{"deckhouse.io/v1alpha1/ModuleConfig", "autoscaling.k8s.io/v1/VerticalPodAutoscaler"},
		Namespace:   "deckhouse", // addon-operator's own namespace, where its releases stand.
	}
}

// plain is a Helm install whose user says which gates are on.
func plain(t testing.TB, name, version string, gatesOn bool) Options {
	t.Helper()
	v := settingsFile(t, name)
	if gatesOn {
		v["cluster"] = map[string]any{"kubernetesVersion": version, "featureGates": map[string]any{"DRAExtendedResource": true}}
	}
	return Options{Values: v, KubeVersion: version}
}

// A version has a golden file of its own only where its render differs from the first version's.
func TestGolden(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	for _, distribution := range []string{"deckhouse", "rosa", "vanilla"} {
		for gates, on := range map[string]bool{"default": false, "on": true} {
			name := distribution + "-gates-" + gates
			t.Run(name, func(t *testing.T) {
				first := ""
				for _, version := range versions {
					o := plain(t, distribution, version, on)
					if distribution == "deckhouse" {
						o = deckhouse(t, version, on)
					}
					documents, notes, err := Render(chart, o)
					require.NoError(t, err)
					again, _, err := Render(chart, o)
					require.NoError(t, err)
					require.Equal(t, documents, again, "the same twice")
					_, err = Decode(documents)
					require.NoError(t, err)
					got := strings.Join(documents, "---\n") + "---\n# NOTES.txt\n" + comment(notes)
					// The version stands in the settings that the user wrote.
					got = strings.ReplaceAll(got, version, "VERSION")
					// The digest of the configuration follows from the configuration, which stands in the file too.
					got = checksum.ReplaceAllString(got, "checksum/config: CHECKSUM")
					if version == versions[0] {
						first = got
						golden(t, name, got)
						continue
					}
					own := filepath.Join("testdata", "golden", name+"-"+version+".yaml")
					if got == first {
						require.NoFileExists(t, own, "it differs from the first version no more")
						continue
					}
					golden(t, name+"-"+version, got)
				}
			})
		}
	}
}

func comment(s string) string {
	return "# " + strings.ReplaceAll(strings.TrimSpace(s), "\n", "\n# ") + "\n"
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name+".yaml")
	if *update {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
		return
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err, "run `go test ./internal/charttest -update`")
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("%s: run `go test ./internal/charttest -update` if this is meant (- golden, + rendered):\n%s", path, diff)
	}
}
