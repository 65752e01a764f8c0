//go:build e2e

package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// exporters are the profiles that have one.
func exporters(t *testing.T) []profile.Driver {
	t.Helper()
	profiles, err := profile.Builtin()
	require.NoError(t, err)
	var out []profile.Driver
	for _, d := range profiles {
		if d.Exporter != nil {
			out = append(out, d)
		}
	}
	require.NotEmpty(t, out)
	return out
}

// Modes of exporters. With a claim of its own each of them runs on the nodes.
var (
	onNodes = map[string]any{"adminAccess": "Always"}
	inPods  = map[string]any{"mode": "Sidecar", "sidecar": map[string]any{"namespaces": []any{"inference"}}}
)

// rendered is the spec of the PrometheusRule that the chart makes for every vendor.
func rendered(t *testing.T, distribution string, exporter map[string]any) (spec []byte, parsed ruleFile) {
	t.Helper()
	chart, err := charttest.Load()
	require.NoError(t, err)
	var drivers []any
	for _, d := range exporters(t) {
		drivers = append(drivers, d.Name)
	}
	settings := map[string]any{"distribution": distribution, "exporter": exporter, "nodeGroups": []any{
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
		for mode, exporter := range map[string]map[string]any{"DaemonSet": onNodes, "Sidecar": inPods} {
			t.Run(distribution+mode, func(t *testing.T) {
				spec, _ := rendered(t, distribution, exporter)
				dir := t.TempDir()
				require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), spec, 0o600))
				run(t, dir, "check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
			})
		}
	}
}

// unitTests is what is looked at of promtool's own files.
type unitTests struct {
	Tests []struct {
		InputSeries []struct {
			Series string `json:"series"`
		} `json:"input_series"`
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

// bothModes are the rules of both modes of exporters as one file; those that both have are the DaemonSets'.
func bothModes(t *testing.T) ruleFile {
	t.Helper()
	_, all := rendered(t, "Vanilla", onNodes)
	_, more := rendered(t, "Vanilla", inPods)
	known := map[string]bool{}
	for _, g := range all.Groups {
		known[g.Name] = true
	}
	for _, g := range more.Groups {
		if !known[g.Name] {
			all.Groups = append(all.Groups, g)
		}
	}
	return all
}

// recordedSeries is what a rule records, as a query names it: of one profile, or under an old name.
func recordedSeries(r rule) string {
	if p := r.Labels["profile"]; p != "" {
		return r.Record + `{profile="` + p + `"`
	}
	return r.Record + "{"
}

// Each alert fires where it should and does not where it should not; each common metric comes out of each of the vendors' own.
func TestRulesDoWhatTheyAreFor(t *testing.T) {
	parsed := bothModes(t)
	var names []string
	// By what is recorded, the metrics that stood there when a test saw it.
	recorded, seen := map[string]bool{}, map[string]map[string]bool{}
	for _, g := range parsed.Groups {
		for i, r := range g.Rules {
			if r.Record != "" {
				recorded[recordedSeries(r)] = true
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
	fires, silent := map[string]bool{}, map[string]bool{}
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
					if !strings.HasPrefix(q.Expr, name) || len(q.ExpSamples) == 0 {
						continue
					}
					if seen[name] == nil {
						seen[name] = map[string]bool{}
					}
					for _, in := range test.InputSeries {
						metric, _, _ := strings.Cut(in.Series, "{")
						seen[name][metric] = true
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
		require.NotEmpty(t, seen[name], "no test sees a sample of %s…}", name)
	}
	everySourceIsTried(t, parsed, seen)
}

// everySourceIsTried: of several entries of a profile each has to have made what is recorded in some test, and of renamed metrics each.
func everySourceIsTried(t *testing.T, parsed ruleFile, seen map[string]map[string]bool) {
	t.Helper()
	for _, g := range parsed.Groups {
		for _, r := range g.Rules {
			if r.Record == "" {
				continue
			}
			for _, metric := range sources.FindAllStringSubmatch(r.Expr, -1) {
				if metric[1] != r.Record {
					require.True(t, seen[recordedSeries(r)][metric[1]], "no test makes %s…} of %s", recordedSeries(r), metric[1])
				}
			}
		}
	}
}

// sources are the metrics of an exporter in the expression of a recording rule: each of them has its selector.
var sources = regexp.MustCompile(`([A-Za-z_:][A-Za-z0-9_:]*)\{`)
