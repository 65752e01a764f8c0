//go:build e2e

package rules

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/charttest"
)

var (
	variables = regexp.MustCompile(`\$\{?\w+\}?`)
	valuesOf  = regexp.MustCompile(`^label_values\((.+), \w+\)$`)
)

// query is one of a dashboard's, with every variable set to All.
type query struct {
	// panel is its title, empty for a query of a variable.
	panel, expr string
}

// queries of all dashboards, by the name of the file.
func queries(t *testing.T) map[string][]query {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(charttest.Root(), "monitoring", "dashboards", "*.json"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	out := map[string][]query{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		dashboard := struct {
			Templating struct {
				List []struct {
					Type  string `json:"type"`
					Query any    `json:"query"`
				} `json:"list"`
			} `json:"templating"`
			Panels []struct {
				Title   string `json:"title"`
				Targets []struct {
					Expr string `json:"expr"`
				} `json:"targets"`
			} `json:"panels"`
		}{}
		require.NoError(t, json.Unmarshal(data, &dashboard), f)
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		add := func(panel, expr string) {
			out[name] = append(out[name], query{panel, variables.ReplaceAllString(expr, ".*")})
		}
		for _, v := range dashboard.Templating.List {
			if v.Type != "query" {
				continue
			}
			q, _ := v.Query.(map[string]any)["query"].(string)
			found := valuesOf.FindStringSubmatch(q)
			require.NotNil(t, found, "%s: %q", f, q)
			add("", found[1])
		}
		require.NotEmpty(t, out[name], "%s can't be narrowed", f)
		for _, p := range dashboard.Panels {
			for _, q := range p.Targets {
				add(p.Title, q.Expr)
			}
		}
	}
	return out
}

// Every query of every dashboard is PromQL, those of its variables too: as rules, promtool parses them all.
func TestDashboardQueriesAreAccepted(t *testing.T) {
	rules := []map[string]string{}
	for _, list := range queries(t) {
		for _, q := range list {
			rules = append(rules, map[string]string{"record": "query", "expr": q.expr})
		}
	}
	require.Greater(t, len(rules), 40)
	dir := t.TempDir()
	check := func(rules []map[string]string) *exec.Cmd {
		data, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboards", "rules": rules}}})
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, "queries.yaml"), data, 0o600))
		cmd := exec.Command(promtool(t), "check", "rules", "--lint=none", "queries.yaml")
		cmd.Dir = dir
		return cmd
	}
	out, err := check(rules).CombinedOutput()
	require.NoError(t, err, string(out))
	_, err = check(append(rules, map[string]string{"record": "query", "expr": "sum by (x"})).CombinedOutput()
	require.Error(t, err, "a wrong query would not be noticed")
}

// A device that several containers share is shown once, a card in parts has the energy of one card, and claims that nobody waits
// for are no alarm.
func TestDashboardsShowEachDeviceOnce(t *testing.T) {
	data, err := os.ReadFile("testdata/dashboards/shared.yaml")
	require.NoError(t, err)
	in := struct {
		InputSeries []any `json:"input_series"`
		Panels      []struct {
			Dashboard string `json:"dashboard"`
			Title     string `json:"title"`
			Samples   []any  `json:"samples"`
		} `json:"panels"`
	}{}
	require.NoError(t, yaml.UnmarshalStrict(data, &in))
	require.NotEmpty(t, in.Panels)
	all := queries(t)
	var tests []any
	for _, p := range in.Panels {
		var found []string
		for _, q := range all[p.Dashboard] {
			if q.panel == p.Title {
				found = append(found, q.expr)
			}
		}
		require.Len(t, found, 1, "%s: %s", p.Dashboard, p.Title)
		tests = append(tests, map[string]any{"expr": found[0], "eval_time": "2h", "exp_samples": p.Samples})
	}
	file, err := yaml.Marshal(map[string]any{"evaluation_interval": "1m", "fuzzy_compare": true, "tests": []any{
		map[string]any{"interval": "1m", "input_series": in.InputSeries, "promql_expr_test": tests}}})
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "shared.yaml"), file, 0o600))
	run(t, dir, "test", "rules", "shared.yaml")
}
