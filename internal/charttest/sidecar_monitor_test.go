package charttest

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// scraped is what Prometheus makes of a sample: labels of the target win, those of the sample that they meet are renamed
// (honorLabels is off), and then come the metric relabelings. Nil: the sample is dropped.
func scraped(t *testing.T, target, sample map[string]string, rules []relabeling) map[string]string {
	t.Helper()
	out := maps.Clone(target)
	for name, value := range sample {
		if _, taken := target[name]; taken {
			name = "exported_" + name
		}
		out[name] = value
	}
	for _, r := range rules {
		regex := regexp.MustCompile("^(?:" + r.Regex + ")$")
		var values []string
		for _, name := range r.SourceLabels {
			values = append(values, out[name])
		}
		source := strings.Join(values, ";")
		switch {
		case r.Action == "labeldrop":
			maps.DeleteFunc(out, func(name, _ string) bool { return regex.MatchString(name) })
		case r.Action == "drop" && regex.MatchString(source):
			return nil
		case r.Action == "" && regex.MatchString(source):
			require.Empty(t, r.Replacement, "only what is copied is known here")
			out[r.TargetLabel] = source
		default:
			require.Contains(t, []string{"", "drop"}, r.Action)
		}
	}
	return out
}

// Who may make pods in a namespace writes what is scraped there: it must not pass for the controller's, for a recording rule's or
// for another pod's.
func TestAPodSpeaksOfItselfOnly(t *testing.T) {
	exporters := exporterBlocks(t)
	m := podMonitors(t, objects(t, Options{APIVersions: monitoringAPIs[:2],
		Values: parse(t, "{nodeGroups: ["+everyVendor(t)+"], exporter: {mode: Sidecar, sidecar: {namespaces: [x]}}}")}))["exporter-sidecars"]
	endpoint := m.Spec.PodMetricsEndpoints[0]
	require.False(t, endpoint.HonorLabels)
	require.Positive(t, m.Spec.SampleLimit)

	target := map[string]string{"job": "gpu-dra-sidecar", "instance": "10.0.0.1:9400", "namespace": "x", "pod": "own", "node": "n1", "claim": "own-gpu"}
	lie := map[string]string{"UUID": "GPU-1", "node_group": "lie", "profile": "lie", "job": "gpu-dra-exporter", "node": "lie", "instance": "lie"}
	for _, e := range exporters {
		for _, common := range []string{"namespace", "pod", "container", "claim"} {
			lie[common] = "lie"
			if own := e.MetricNames.Labels[common]; own != "" {
				lie[own] = "lie"
			}
		}
	}
	for name, taken := range map[string]bool{"DCGM_FI_DEV_FB_USED": true, "acme_used": true, "gpu_dra_condition": false, "gpu_dra_nodes": false, "gpu:healthy": false} {
		sample := maps.Clone(lie)
		sample["__name__"] = name
		got := scraped(t, target, sample, endpoint.MetricRelabelings)
		if !taken {
			require.Nil(t, got, name)
			continue
		}
		require.Equal(t, "GPU-1", got["UUID"], "what is said of the device stays")
		for label, value := range target {
			require.Equal(t, value, got[label])
		}
		for label, value := range got {
			require.False(t, value == "lie" && !strings.HasPrefix(label, "exported_"), "%s is the pod's own word", label)
		}
	}
}

// A label that an exporter renamed is not a way around: what is copied is dropped with the rest.
func TestARenamedLabelIsNoWayAround(t *testing.T) {
	profile := `{name: acme, driverName: gpu.acme.example, exporter: {image: {repository: r.example/a, tag: v1.0.0}, port: 9000, metricNames: {labels: {accelerator: serial, claim: claim_name, pod: instance},
		renamedLabels: [{was: claim_name, now: claim_name_v2}], series: {power: [{metrics: [acme_watts]}]}}}}`
	m := podMonitors(t, objects(t, Options{APIVersions: monitoringAPIs[:2], Values: parse(t,
		"{nodeGroups: [{name: a, nodeSelector: {b: c}, drivers: [acme]}], customDrivers: ["+profile+"], exporter: {mode: Sidecar, sidecar: {namespaces: [x]}}}")}))["exporter-sidecars"]
	got := scraped(t, map[string]string{"instance": "10.0.0.1:9400"}, map[string]string{"__name__": "acme_watts", "serial": "S1", "claim_name_v2": "lie"},
		m.Spec.PodMetricsEndpoints[0].MetricRelabelings)
	require.NotContains(t, got, "claim_name")
	require.Equal(t, "10.0.0.1:9400", got["instance"], "a label of the target is not the pod's, and stays")
	require.Equal(t, "S1", got["serial"])
}
