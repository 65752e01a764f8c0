package charttest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"sigs.k8s.io/yaml"
)

// maxChart leaves room below the 1 MiB of a release Secret, which holds the chart and the manifest, compressed and encoded.
const maxChart = 540 << 10

// inChart is all that may be in the chart, whatever else stands in the root of the repository.
var inChart = regexp.MustCompile(`^(Chart\.yaml|LICENSE|values\.yaml|values\.schema\.json|crds/gpu[a-z]+\.yaml|` +
	`profiles/(drivers|distributions)/[a-z-]+\.yaml|monitoring/.+|templates/.+\.(yaml|tpl)|templates/NOTES\.txt)$`)

func TestChartHoldsWhatItNeedsAndNothingElse(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	loaded, total := map[string]bool{}, 0
	for _, f := range chart.Raw {
		loaded[f.Name] = true
		total += len(f.Data)
		require.Regexp(t, inChart, f.Name, "add it to .helmignore, or to this test")
	}
	require.LessOrEqual(t, total, maxChart)
	t.Logf("%d files, %d bytes", len(loaded), total)
	// Nothing of the chart's own folders is lost to a rule that matches too much.
	for _, dir := range []string{"templates", "profiles", "crds", "monitoring"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(Root(), dir), func(path string, d os.DirEntry, err error) error {
			name, _ := filepath.Rel(Root(), path)
			if err == nil && !d.IsDir() && inChart.MatchString(name) {
				require.True(t, loaded[name], "%s is ignored", name)
			}
			return err
		}))
	}
}

func TestRulesAreAnchored(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(Root(), ".helmignore"))
	require.NoError(t, err)
	for _, line := range strings.Split(string(data), "\n") {
		if line != "" && !strings.HasPrefix(line, "#") {
			require.True(t, strings.HasPrefix(line, "/"), "%q matches at any depth", line)
		}
	}
}

// Helm applies every YAML file in crds/ as it is.
func TestHelmSeesCRDsOnly(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	require.Len(t, chart.CRDObjects(), 4)
	for _, f := range chart.CRDObjects() {
		crd := struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}{}
		require.NoError(t, yaml.Unmarshal(f.File.Data, &crd), f.Name)
		require.Equal(t, "CustomResourceDefinition", crd.Kind, f.Name)
		require.True(t, strings.HasSuffix(crd.Metadata.Name, ".gpu-dra.deckhouse.io"), f.Name)
	}
}

// The versions that module.yaml and Chart.yaml ask for are one.
func TestRequirementsAgree(t *testing.T) {
	module := struct {
		Name         string            `json:"name"`
		Namespace    string            `json:"namespace"`
		Requirements map[string]string `json:"requirements"`
		Descriptions map[string]string `json:"descriptions"`
	}{}
	data, err := os.ReadFile(filepath.Join(Root(), "module.yaml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &module))
	chart, err := loader.LoadDir(Root())
	require.NoError(t, err)
	require.Equal(t, chart.Metadata.Name, module.Name)
	require.Equal(t, "d8-gpu-dra", module.Namespace)
	require.Equal(t, ">= 1.34", module.Requirements["kubernetes"])
	require.Equal(t, ">=1.34.0-0", chart.Metadata.KubeVersion)
	require.NotEmpty(t, module.Descriptions["en"])
}

// `helm lint` finds nothing worse than a missing icon.
func TestHelmLint(t *testing.T) {
	linter := lint.AllWithKubeVersion(Root(), example(t, "vanilla"), "gpu-dra-system", &chartutil.KubeVersion{Version: "v1.34.4", Major: "1", Minor: "34"})
	for _, m := range linter.Messages {
		require.Less(t, m.Severity, support.WarningSev, m.Error())
	}
}
