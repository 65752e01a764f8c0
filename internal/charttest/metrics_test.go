package charttest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/tally"
)

// metricNames is monitoring/metrics.yaml.
type metricNames struct {
	Labels   []string          `json:"labels"`
	Recorded map[string]string `json:"recorded"`
}

func readMetricNames(t *testing.T) metricNames {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(Root(), "monitoring", "metrics.yaml"))
	require.NoError(t, err)
	out := metricNames{}
	require.NoError(t, yaml.UnmarshalStrict(data, &out))
	return out
}

// ofWebhook are metrics of the controller's webhook, with their labels, as far as rules read them.
var ofWebhook = map[string][]string{"gpu_dra_webhook_certificate_expiry_seconds": {}}

// ofController are the metrics of the controller, with their labels.
func ofController(t *testing.T) map[string][]string {
	t.Helper()
	sources, err := filepath.Glob(filepath.Join(Root(), "internal", "controller", "webhook", "*.go"))
	require.NoError(t, err)
	var code strings.Builder
	for _, path := range sources {
		if !strings.HasSuffix(path, "_test.go") {
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			code.Write(data)
		}
	}
	out := map[string][]string{}
	for name, labels := range ofWebhook {
		require.Contains(t, code.String(), `"`+name+`"`, "the webhook has no such metric")
		out[name] = labels
	}
	for _, m := range tally.Metrics() {
		out[m.Name] = m.Labels
	}
	return out
}

// ofScrape are what Prometheus itself says of a target.
var ofScrape = map[string]bool{"up": true, "scrape_samples_scraped": true}

// vendorNames are all metrics that the vendors document (testdata/vendor-metrics.yaml).
func vendorNames(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	for _, units := range vendorUnits(t) {
		for name := range units {
			out[name] = true
		}
	}
	return out
}

type exporterBlock struct {
	Metrics     profile.ExporterMetrics `json:"metrics"`
	MetricNames profile.MetricNames     `json:"metricNames"`
}

// exporterBlocks are the blocks of the profiles, as the chart has them.
func exporterBlocks(t *testing.T) map[string]exporterBlock {
	t.Helper()
	chart, err := Load()
	require.NoError(t, err)
	out := map[string]exporterBlock{}
	for _, f := range chart.Files {
		if !strings.HasPrefix(f.Name, "profiles/drivers/") {
			continue
		}
		p := struct {
			Name     string         `json:"name"`
			Exporter *exporterBlock `json:"exporter"`
		}{}
		require.NoError(t, yaml.Unmarshal(f.Data, &p), f.Name)
		if p.Exporter != nil {
			out[p.Name] = *p.Exporter
		}
	}
	require.NotEmpty(t, out)
	return out
}

// Rules select metrics that the controller has, that another rule records, or that a vendor documents.
func TestRulesUseMetricsThatExist(t *testing.T) {
	names, vendors, controller := readMetricNames(t), vendorNames(t), ofController(t)
	recorded := map[string]bool{}
	for _, name := range names.Recorded {
		recorded[name] = true
	}
	all := everyRule(t)
	used, made := map[string]bool{}, map[string]bool{}
	for _, r := range all {
		if r.Record != "" {
			made[r.Record] = true
			require.True(t, recorded[r.Record] || vendors[r.Record], r.Record)
		}
		selected := metricsIn(r.Expr)
		require.NotEmpty(t, selected, r.Expr)
		for _, m := range selected {
			used[m] = true
			_, known := controller[m]
			switch {
			case r.Record != "":
				require.True(t, vendors[m], "%s: no vendor documents %s", r.Record, m)
			default:
				require.True(t, known || recorded[m] || ofScrape[m], "%s: %s is in no list", r.Alert, m)
			}
		}
		for _, l := range labelsIn(r.Expr, controller) {
			require.True(t, l.known, "%s: %s has no label %s", r.Alert, l.metric, l.label)
		}
	}
	for key, name := range names.Recorded {
		require.True(t, made[name], "no profile has %s", key)
	}
}

// Each vendor's metrics come under the common names, with its own labels renamed and its units converted.
func TestRecordingRulesOfNVIDIA(t *testing.T) {
	all, _ := prometheusRules(t, allMonitoring(t, false))
	found := map[string]string{}
	for _, r := range all {
		if r.Labels["profile"] == "nvidia" {
			found[r.Record] = r.Expr
		}
	}
	const by = "max by (node, node_group, accelerator, model, partition, namespace, pod, container, claim) ("
	require.Equal(t, by+`label_replace(label_replace(label_replace(label_replace(DCGM_FI_DEV_FB_USED{job=~"gpu-dra-exporter|gpu-dra-sidecar"} * 1048576, `+
		`"accelerator", "$1", "UUID", "(.+)"), "claim", "$1", "dra_claim_name", "(.+)"), "model", "$1", "modelName", "(.+)"), "partition", "$1", "GPU_I_ID", "(.+)"))`,
		found["gpu:memory_used_bytes"])
	require.Contains(t, found["gpu:utilization_ratio"], "DCGM_FI_PROF_GR_ENGINE_ACTIVE{")
	require.Contains(t, found["gpu:utilization_ratio"], "\nor\n", "profiling where it is on, the utilisation that every card has elsewhere")
	require.Contains(t, found["gpu:utilization_ratio"], `"} * 0.01`)
	require.NotContains(t, found, "gpu:healthy", "the meaning of its values is not known")
}

type labelUse struct {
	metric, label string
	known         bool
}

var (
	selection = regexp.MustCompile(`(gpu_dra_\w+)\{([^}]*)\}`)
	matched   = regexp.MustCompile(`(\w+)(=~|!~|!=|=)`)
)

// labelsIn are the labels by which an expression selects series of the controller, and whether these have them.
func labelsIn(expr string, controller map[string][]string) []labelUse {
	var out []labelUse
	for _, m := range selection.FindAllStringSubmatch(expr, -1) {
		for _, l := range matched.FindAllStringSubmatch(quoted.ReplaceAllString(m[2], ""), -1) {
			known := false
			for _, has := range controller[m[1]] {
				known = known || has == l[1]
			}
			out = append(out, labelUse{m[1], l[1], known})
		}
	}
	return out
}
