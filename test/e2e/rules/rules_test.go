//go:build e2e

package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/charttest"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

var apis = []string{"monitoring.coreos.com/v1/PodMonitor", "monitoring.coreos.com/v1/PrometheusRule", "deckhouse.io/v1/GrafanaDashboardDefinition"}

// promtool is built on first use, by the program that builds clusters.
func promtool(t *testing.T) string {
	t.Helper()
	cluster := filepath.Join(charttest.Root(), "_out", "cluster")
	out, err := exec.Command(cluster, "bin", "promtool").Output()
	require.NoError(t, err, "build it first: make test-e2e")
	return strings.TrimSpace(string(out))
}

func run(t *testing.T, dir string, args ...string) {
	t.Helper()
	cmd := exec.Command(promtool(t), args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %s\n%s", strings.Join(args, " "), out)
}

// rule has the fields of a rule that Prometheus knows.
type rule struct {
	Alert       string            `json:"alert,omitempty"`
	Record      string            `json:"record,omitempty"`
	Expr        string            `json:"expr"`
	For         string            `json:"for,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

type ruleFile struct {
	Groups []struct {
		Name  string `json:"name"`
		Rules []rule `json:"rules"`
	} `json:"groups"`
}

// rendered is the spec of the PrometheusRule that the chart makes for every vendor.
func rendered(t *testing.T, distribution string) (spec []byte, parsed ruleFile) {
	t.Helper()
	chart, err := charttest.Load()
	require.NoError(t, err)
	profiles, err := profile.Builtin()
	require.NoError(t, err)
	var drivers []any
	for _, d := range profiles {
		if d.Exporter != nil {
			drivers = append(drivers, d.Name)
		}
	}
	require.NotEmpty(t, drivers)
	// With a claim of its own each of the exporters runs.
	settings := map[string]any{"distribution": distribution, "exporter": map[string]any{"adminAccess": "Always"}, "nodeGroups": []any{
		map[string]any{"name": "a", "nodeSelector": map[string]any{"b": "c"}, "drivers": drivers}}}
	documents, _, err := charttest.Render(chart, charttest.Options{Values: settings, APIVersions: apis})
	require.NoError(t, err)
	for _, d := range documents {
		if !strings.Contains(d, "\nkind: PrometheusRule\n") {
			continue
		}
		u := &unstructured.Unstructured{}
		require.NoError(t, yaml.Unmarshal([]byte(d), u))
		spec, err = yaml.Marshal(u.Object["spec"])
		require.NoError(t, err)
		require.NoError(t, yaml.UnmarshalStrict(spec, &parsed))
		return spec, parsed
	}
	t.Fatal("the chart renders no PrometheusRule")
	return nil, parsed
}

func TestRulesAreAccepted(t *testing.T) {
	for _, distribution := range []string{"Deckhouse", "Vanilla"} {
		t.Run(distribution, func(t *testing.T) {
			spec, _ := rendered(t, distribution)
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), spec, 0o600))
			run(t, dir, "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
		})
	}
}

// unitTests is what is looked at of promtool's own files.
type unitTests struct {
	Tests []struct {
		AlertRuleTest []struct {
			AlertName string `json:"alertname"`
			ExpAlerts []any  `json:"exp_alerts"`
		} `json:"alert_rule_test"`
		PromqlExprTest []struct {
			Expr       string `json:"expr"`
			ExpSamples []any  `json:"exp_samples"`
		} `json:"promql_expr_test"`
	} `json:"tests"`
}

// Each alert fires where it should and does not where it should not; each common metric comes out of the vendors' own.
func TestRulesDoWhatTheyAreFor(t *testing.T) {
	_, parsed := rendered(t, "Vanilla")
	var names []string
	recorded := map[string]bool{}
	for _, g := range parsed.Groups {
		for i, r := range g.Rules {
			if r.Record != "" {
				recorded[r.Record] = true
				continue
			}
			names = append(names, r.Alert)
			// The tests say each summary; repeating whole descriptions there would test the copy.
			g.Rules[i].Annotations = map[string]string{"summary": r.Annotations["summary"]}
		}
	}
	dir := t.TempDir()
	data, err := yaml.Marshal(parsed)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), data, 0o600))

	files, err := filepath.Glob("testdata/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	fires, silent, seen := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		tests := unitTests{}
		require.NoError(t, yaml.Unmarshal(data, &tests), f)
		for _, test := range tests.Tests {
			for _, a := range test.AlertRuleTest {
				require.Contains(t, names, a.AlertName, f)
				if len(a.ExpAlerts) > 0 {
					fires[a.AlertName] = true
				} else {
					silent[a.AlertName] = true
				}
			}
			for _, q := range test.PromqlExprTest {
				for name := range recorded {
					if strings.HasPrefix(q.Expr, name+"{") && len(q.ExpSamples) > 0 {
						seen[name] = true
					}
				}
			}
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(f)), data, 0o600))
		t.Run(filepath.Base(f), func(t *testing.T) { run(t, dir, "test", "rules", filepath.Base(f)) })
	}
	for _, name := range names {
		require.True(t, fires[name], "no test sees %s fire", name)
		require.True(t, silent[name], "no test sees %s keep silent", name)
	}
	for name := range recorded {
		require.True(t, seen[name], "no test sees a sample of %s", name)
	}
}
