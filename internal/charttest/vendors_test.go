package charttest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// vendorUnits are the units of the metrics that a vendor documents, by the profile's name.
func vendorUnits(t *testing.T) map[string]map[string]string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "vendor-metrics.yaml"))
	require.NoError(t, err)
	in := struct {
		Vendors map[string]map[string]string `json:"vendors"`
	}{}
	require.NoError(t, yaml.UnmarshalStrict(data, &in))
	require.NotEmpty(t, in.Vendors)
	return in.Vendors
}

type quantity struct {
	base  string
	times float64
}

// quantities are what the units count, and how many base units one of them is.
var quantities = map[string]quantity{
	"bytes": {"bytes", 1}, "MiB": {"bytes", 1 << 20},
	// AMD and Ascend: docs/monitoring.md says that it is an assumption.
	"MB":    {"bytes", 1 << 20},
	"ratio": {"ratio", 1}, "percent": {"ratio", 0.01},
	"J": {"joules", 1}, "mJ": {"joules", 1e-3}, "uJ": {"joules", 1e-6},
	"Hz": {"hertz", 1}, "MHz": {"hertz", 1e6},
	"celsius": {"celsius", 1}, "watts": {"watts", 1}, "errors": {"errors", 1}, "health": {"health", 1},
	"rows": {"rows", 1}, "bytes/s": {"bytes/s", 1}, "MB/s": {"MB/s", 1}, "ns": {"ns", 1}, "code": {"code", 1}, "flag": {"flag", 1}, "text": {"text", 1},
}

// commonUnits are the units of what is recorded, by the end of the name.
var commonUnits = map[string]string{
	"_bytes": "bytes", "_ratio": "ratio", "_celsius": "celsius", "_watts": "watts", "_joules_total": "J", "_errors_total": "errors", ":healthy": "health",
}

// converts says by what a value has to be multiplied that is in one unit and is to be in another.
func converts(t *testing.T, from, to string) float64 {
	t.Helper()
	require.Contains(t, quantities, from)
	require.Contains(t, quantities, to)
	require.Equal(t, quantities[to].base, quantities[from].base, "%s is no %s", from, to)
	return quantities[from].times / quantities[to].times
}

func factorOf(factor float64) float64 {
	if factor == 0 {
		return 1
	}
	return factor
}

// A profile names metrics that its vendor documents, and makes the common units, or the old ones, of theirs.
func TestProfilesSayWhatVendorsDocument(t *testing.T) {
	units, common := vendorUnits(t), readMetricNames(t)
	for name, block := range exporterBlocks(t) {
		documented := units[name]
		require.NotEmpty(t, documented, name)
		for _, list := range [][]profile.Counter{block.Metrics.Default, block.Metrics.Profiling, block.Metrics.Optional} {
			for _, c := range list {
				require.Contains(t, documented, c.Name, "%s: exporter.metrics", name)
			}
		}
		for _, r := range block.MetricNames.Renamed {
			require.Contains(t, documented, r.Was, "%s: exporter.metricNames.renamed", name)
			require.Contains(t, documented, r.Now, "%s: exporter.metricNames.renamed", name)
			require.InEpsilon(t, converts(t, documented[r.Now], documented[r.Was]), factorOf(r.Factor), 1e-12, "%s: %s", name, r.Now)
		}
		for _, r := range block.MetricNames.RenamedLabels {
			require.Contains(t, documented, r.Was, "%s: exporter.metricNames.renamedLabels", name)
			require.Contains(t, documented, r.Now, "%s: exporter.metricNames.renamedLabels", name)
		}
		for key, entries := range block.MetricNames.Series {
			unit := ""
			for end, u := range commonUnits {
				if strings.HasSuffix(common.Recorded[key], end) {
					unit = u
				}
			}
			require.NotEmpty(t, unit, "the name %q says no unit", common.Recorded[key])
			for _, e := range entries {
				for _, m := range e.Metrics {
					require.Contains(t, documented, m, "%s: exporter.metricNames.series[%s]", name, key)
					require.InEpsilon(t, converts(t, documented[m], unit), factorOf(e.Factor), 1e-12, "%s: %s as %s", name, m, common.Recorded[key])
				}
			}
		}
	}
}

// Where the chart tells an exporter what to collect, rules are about what it was told, or about what a newer one makes of that.
func TestRulesAreAboutWhatIsCollected(t *testing.T) {
	lists := 0
	for name, block := range exporterBlocks(t) {
		if len(block.Metrics.Default) == 0 {
			continue
		}
		lists++
		collected, now := map[string]bool{}, map[string]bool{}
		for _, c := range slices.Concat(block.Metrics.Default, block.Metrics.Profiling) {
			collected[c.Name] = true
		}
		for _, r := range block.MetricNames.Renamed {
			require.True(t, collected[r.Was], "%s: %s is renamed, and in no list that is collected", name, r.Was)
			now[r.Now] = true
		}
		for key, entries := range block.MetricNames.Series {
			for _, e := range entries {
				for _, m := range e.Metrics {
					require.True(t, collected[m] || now[m], "%s: series[%s] has %s, which nobody collects", name, key, m)
				}
			}
		}
	}
	require.Positive(t, lists, "NVIDIA's has lists")
}
