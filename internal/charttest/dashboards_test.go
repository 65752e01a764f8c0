package charttest

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// dashboard is what is looked at of Grafana's own format.
type dashboard struct {
	UID        string `json:"uid"`
	Title      string `json:"title"`
	Templating struct {
		List []struct {
			Name       string      `json:"name"`
			Type       string      `json:"type"`
			Datasource *datasource `json:"datasource"`
			// Query is text or an object, by the type.
			Query any `json:"query"`
		} `json:"list"`
	} `json:"templating"`
	Panels []struct {
		ID         int         `json:"id"`
		Type       string      `json:"type"`
		Title      string      `json:"title"`
		Datasource *datasource `json:"datasource"`
		GridPos    struct {
			X, Y, W, H int
		} `json:"gridPos"`
		Targets []struct {
			Datasource *datasource `json:"datasource"`
			Expr       string      `json:"expr"`
		} `json:"targets"`
	} `json:"panels"`
}

type datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// dashboards by file name without its ending, read from what the chart renders.
func dashboards(t *testing.T) map[string]dashboard {
	t.Helper()
	out := map[string]dashboard{}
	for _, o := range allMonitoring(t, false) {
		if c, ok := o.(*corev1.ConfigMap); ok && c.Labels["grafana_dashboard"] == "1" {
			d := dashboard{}
			require.NoError(t, json.Unmarshal([]byte(c.Data[c.Name+".json"]), &d), c.Name)
			out[strings.TrimPrefix(c.Name, "gpu-dra-")] = d
		}
	}
	files, err := filepath.Glob(filepath.Join(Root(), "monitoring", "dashboards", "*.json"))
	require.NoError(t, err)
	require.Len(t, out, len(files))
	return out
}

// Deckhouse has the same dashboards in an object of its own.
func TestDashboardsAreTheSameEverywhere(t *testing.T) {
	found := 0
	plain := allMonitoring(t, false)
	for _, o := range allMonitoring(t, true) {
		u, ok := o.(*unstructured.Unstructured)
		if !ok || u.GetKind() != "GrafanaDashboardDefinition" {
			continue
		}
		found++
		definition, _, err := unstructured.NestedString(u.Object, "spec", "definition")
		require.NoError(t, err)
		require.Contains(t, u.GetLabels(), "prometheus.deckhouse.io/grafana-dashboard")
		require.Equal(t, Find[*corev1.ConfigMap](plain, u.GetName()).Data[u.GetName()+".json"], definition)
	}
	require.Equal(t, 4, found)
}

// What a person who opens one needs, and what Deckhouse's linter asks for.
func TestDashboardsAreWhole(t *testing.T) {
	uids := map[string]bool{}
	for name, d := range dashboards(t) {
		require.Equal(t, "gpu-dra-"+name, d.UID, "links to it would break")
		require.False(t, uids[d.UID])
		uids[d.UID] = true
		require.Equal(t, "ds_prometheus", d.Templating.List[0].Name)
		require.Equal(t, "prometheus", d.Templating.List[0].Query)
		taken := map[[2]int]string{}
		for i, p := range d.Panels {
			require.Equal(t, i+1, p.ID, "%s: %s", name, p.Title)
			require.NotEmpty(t, p.Title)
			require.Contains(t, []string{"stat", "timeseries", "table"}, p.Type)
			require.NotEmpty(t, p.Targets, p.Title)
			require.Equal(t, "$ds_prometheus", p.Datasource.UID)
			for _, target := range p.Targets {
				require.Equal(t, "$ds_prometheus", target.Datasource.UID)
			}
			require.LessOrEqual(t, p.GridPos.X+p.GridPos.W, 24, p.Title)
			for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
				for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
					require.Empty(t, taken[[2]int{x, y}], "%s: %q lies on it", name, p.Title)
					taken[[2]int{x, y}] = p.Title
				}
			}
		}
	}
}

var (
	valuesOf = regexp.MustCompile(`^label_values\((.+), (\w+)\)$`)
	variable = regexp.MustCompile(`\$\{?(\w+)\}?`)
)

// Panels and variables ask for metrics and labels that there are, and use variables that the dashboard has.
func TestDashboardsUseMetricsThatExist(t *testing.T) {
	names, controller := readMetricNames(t), ofController(t)
	recorded := map[string]bool{}
	for _, name := range names.Recorded {
		recorded[name] = true
	}
	shown := map[string]bool{}
	check := func(name, expr string, variables map[string]bool) {
		for _, m := range variable.FindAllStringSubmatch(expr, -1) {
			require.True(t, variables[m[1]], "%s: %s has no variable %s", name, expr, m[1])
		}
		selected := metricsIn(expr)
		require.NotEmpty(t, selected, expr)
		for _, m := range selected {
			_, known := controller[m]
			require.True(t, known || recorded[m] || ofScrape[m], "%s: %s is in no list", name, m)
			shown[m] = true
		}
		for _, l := range labelsIn(expr, controller) {
			require.True(t, l.known, "%s: %s has no label %s", name, l.metric, l.label)
		}
	}
	for name, d := range dashboards(t) {
		variables := map[string]bool{}
		for _, v := range d.Templating.List {
			variables[v.Name] = true
			if query, ok := v.Query.(map[string]any); ok {
				require.Equal(t, "$ds_prometheus", v.Datasource.UID)
				m := valuesOf.FindStringSubmatch(query["query"].(string))
				require.NotNil(t, m, query)
				check(name, m[1], variables)
			}
		}
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				check(name, target.Expr, variables)
			}
		}
	}
	// A metric of the controller that no dashboard shows is worth a look: it is an alert's alone.
	for m := range controller {
		if !shown[m] {
			require.Contains(t, []string{"gpu_dra_pools_incomplete", "gpu_dra_pools_empty", "gpu_dra_webhook_certificate_expiry_seconds"}, m)
		}
	}
}
