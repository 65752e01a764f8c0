package charttest

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// monitoringAPIs are what Prometheus Operator and Deckhouse serve.
var monitoringAPIs = []string{"monitoring.coreos.com/v1/PodMonitor", "monitoring.coreos.com/v1/PrometheusRule", "deckhouse.io/v1/GrafanaDashboardDefinition"}

// kinds counts the objects of monitoring by kind; ConfigMaps are those with a dashboard.
func kinds(rendered []client.Object) map[string]int {
	out := map[string]int{}
	for _, o := range rendered {
		kind := o.GetObjectKind().GroupVersionKind().Kind
		switch kind {
		case "PodMonitor", "PrometheusRule", "GrafanaDashboardDefinition":
			out[kind]++
		case "ConfigMap":
			if _, ok := o.GetLabels()["grafana_dashboard"]; ok {
				out[kind]++
			}
		}
	}
	return out
}

// everyVendor is a node group with each driver that there is a profile of: those with an exporter, and those without.
func everyVendor(t testing.TB) string {
	t.Helper()
	drivers, err := profile.Builtin()
	require.NoError(t, err)
	var names []string
	for _, d := range drivers {
		names = append(names, d.Name)
	}
	return "{name: a, nodeSelector: {b: c}, drivers: [" + strings.Join(names, ", ") + "]}"
}

func TestMonitoringIsWhereItsAPIIs(t *testing.T) {
	// That of the controller, and one of each exporter.
	monitors := 1 + len(exporterBlocks(t))
	all := map[string]int{"PodMonitor": monitors, "PrometheusRule": 1, "ConfigMap": 4}
	hooks := func(apis values.MonitoringAPIs, settings string) Options {
		return Options{Values: underHooks(t, parse(t, settings), values.Internal{Cluster: values.Cluster{Distribution: "Deckhouse", MonitoringAPIs: apis}})}
	}
	groups := "nodeGroups: [" + everyVendor(t) + "]\n"
	for name, c := range map[string]struct {
		options Options
		want    map[string]int
	}{
		"no API":              {Options{Values: parse(t, groups)}, map[string]int{}},
		"Prometheus Operator": {Options{Values: parse(t, groups+"exporter: {adminAccess: Always}"), APIVersions: monitoringAPIs[:2]}, all},
		"rules only":          {Options{Values: parse(t, groups), APIVersions: monitoringAPIs[1:2]}, map[string]int{"PrometheusRule": 1, "ConfigMap": 4}},
		"Always":              {Options{Values: parse(t, groups+"exporter: {adminAccess: Always}\nmonitoring: {podMonitor: Always, rules: Always, dashboards: Always}")}, all},
		"Never":               {Options{Values: parse(t, groups+"monitoring: {podMonitor: Never, rules: Never, dashboards: Never}"), APIVersions: monitoringAPIs}, map[string]int{}},
		"hooks, no API":       {hooks(values.MonitoringAPIs{}, groups), map[string]int{}},
		// What hooks found counts, not what Helm knows.
		"hooks, no PodMonitor": {hooks(values.MonitoringAPIs{PrometheusRule: true, GrafanaDashboard: true}, groups), map[string]int{"PrometheusRule": 1, "GrafanaDashboardDefinition": 4}},
		"hooks, no Grafana":    {hooks(values.MonitoringAPIs{PodMonitor: true, PrometheusRule: true}, groups), map[string]int{"PodMonitor": monitors, "PrometheusRule": 1}},
		"no group":             {Options{Values: map[string]any{}, APIVersions: monitoringAPIs[:2]}, map[string]int{"PodMonitor": 1, "PrometheusRule": 1, "ConfigMap": 4}},
		"no exporter":          {Options{Values: parse(t, groups+"exporter: {mode: 'Off'}"), APIVersions: monitoringAPIs[:2]}, map[string]int{"PodMonitor": 1, "PrometheusRule": 1, "ConfigMap": 4}},
		"sidecars":             {Options{Values: parse(t, groups+"exporter: {mode: Sidecar, sidecar: {namespaces: [x]}}"), APIVersions: monitoringAPIs[:2]}, map[string]int{"PodMonitor": 2, "PrometheusRule": 1, "ConfigMap": 4}},
		"sidecars nowhere":     {Options{Values: parse(t, groups+"exporter: {mode: Sidecar}"), APIVersions: monitoringAPIs[:2]}, map[string]int{"PodMonitor": 1, "PrometheusRule": 1, "ConfigMap": 4}},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, kinds(objects(t, c.options))) })
	}
}

// podMonitor is what we use of the kind; an unknown field is an error.
type podMonitor struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		NamespaceSelector struct {
			MatchNames []string `json:"matchNames,omitempty"`
		} `json:"namespaceSelector,omitempty"`
		Selector struct {
			MatchLabels map[string]string `json:"matchLabels"`
		} `json:"selector"`
		SampleLimit         int `json:"sampleLimit,omitempty"`
		PodMetricsEndpoints []struct {
			HonorLabels       bool         `json:"honorLabels,omitempty"`
			Port              string       `json:"port"`
			Path              string       `json:"path,omitempty"`
			Interval          string       `json:"interval,omitempty"`
			Relabelings       []relabeling `json:"relabelings,omitempty"`
			MetricRelabelings []relabeling `json:"metricRelabelings,omitempty"`
		} `json:"podMetricsEndpoints"`
	} `json:"spec"`
}

type relabeling struct {
	SourceLabels []string `json:"sourceLabels,omitempty"`
	TargetLabel  string   `json:"targetLabel,omitempty"`
	Regex        string   `json:"regex,omitempty"`
	Replacement  string   `json:"replacement,omitempty"`
	Action       string   `json:"action,omitempty"`
}

func podMonitors(t *testing.T, rendered []client.Object) map[string]podMonitor {
	t.Helper()
	out := map[string]podMonitor{}
	for _, o := range rendered {
		if u, ok := o.(*unstructured.Unstructured); ok && u.GetKind() == "PodMonitor" {
			data, err := yaml.Marshal(u.Object)
			require.NoError(t, err)
			m := podMonitor{}
			require.NoError(t, yaml.UnmarshalStrict(data, &m))
			require.Len(t, m.Spec.PodMetricsEndpoints, 1)
			out[m.Metadata.Name] = m
		}
	}
	return out
}

// set is what relabelings put into a label without looking at another, and drop the labels they take off the target.
func set(list []relabeling) (set map[string]string, drop string) {
	set = map[string]string{}
	for _, r := range list {
		switch {
		case r.Action == "labeldrop":
			drop = r.Regex
		case len(r.SourceLabels) == 0:
			set[r.TargetLabel] = r.Replacement
		}
	}
	return set, drop
}

func TestPodMonitors(t *testing.T) {
	cluster := values.Cluster{Distribution: "Deckhouse", MonitoringAPIs: values.MonitoringAPIs{PodMonitor: true}}
	rendered := objects(t, Options{Values: underHooks(t, parse(t, "{nodeGroups: ["+everyVendor(t)+"], exporter: {interval: 15s}, monitoring: {labels: {team: ml, gpu-dra.deckhouse.io/driver: mine, app.kubernetes.io/name: mine}}}"), values.Internal{Cluster: cluster})})
	monitors := podMonitors(t, rendered)
	require.Len(t, monitors, 1+len(exporterBlocks(t)))
	namespace := Find[client.Object](rendered, "d8-gpu-dra")
	for name, m := range monitors {
		require.Equal(t, "d8-gpu-dra", m.Metadata.Namespace)
		require.Equal(t, "main", m.Metadata.Labels["prometheus"], "Deckhouse's Prometheus selects by it")
		require.Equal(t, "ml", m.Metadata.Labels["team"])
		require.Equal(t, "gpu-dra", m.Metadata.Labels["app.kubernetes.io/name"], "a key of ours stays ours, and stands once")
		endpoint := m.Spec.PodMetricsEndpoints[0]
		require.Equal(t, "metrics", endpoint.Port)
		labels, drop := set(endpoint.Relabelings)
		require.Equal(t, "dkp", labels["d8_source"])
		for _, taken := range []string{"namespace", "pod", "container"} {
			require.Regexp(t, "^(?:"+drop+")$", taken, "%s: the target's would stand in the way of the metrics' own", name)
		}
		if name == "controller" {
			require.Equal(t, "gpu-dra-controller", labels["job"])
			continue
		}
		require.Equal(t, "gpu-dra-exporter", labels["job"])
		require.Equal(t, "15s", endpoint.Interval)
		require.Equal(t, name, m.Spec.Selector.MatchLabels["app.kubernetes.io/component"])
		require.Equal(t, strings.TrimPrefix(name, "exporter-"), labels["profile"])
		require.Equal(t, labels["profile"], m.Metadata.Labels["gpu-dra.deckhouse.io/driver"])
		require.Empty(t, m.Spec.NamespaceSelector.MatchNames)
	}
	for _, label := range []string{"prometheus.deckhouse.io/monitor-watcher-enabled", "prometheus.deckhouse.io/rules-watcher-enabled"} {
		require.Equal(t, "true", namespace.GetLabels()[label])
	}
	rules := monitors["exporter-nvidia"].Spec.PodMetricsEndpoints[0].MetricRelabelings
	require.Equal(t, relabeling{SourceLabels: []string{"DCGM_FI_SYSTEM_DRIVER_VERSION"}, Regex: "(.+)", TargetLabel: "DCGM_FI_DRIVER_VERSION"}, rules[0])
	require.Empty(t, monitors["exporter-amd"].Spec.PodMetricsEndpoints[0].MetricRelabelings, "it claims nothing")

	// With a claim of its own the kubelet names the exporter as a user of every device.
	own := map[string]string{"UUID": "GPU-1", "namespace": "d8-gpu-dra", "pod": "exporter-nvidia-a-x", "container": "exporter", "dra_claim_name": "exporter-nvidia-a-x-devices"}
	require.Equal(t, map[string]string{"UUID": "GPU-1"}, relabelled(t, rules[1:], own))
	engine := map[string]string{"UUID": "GPU-1", "namespace": "inference", "pod": "llm-0", "container": "exporter", "dra_claim_name": "llm-0-gpu"}
	require.Equal(t, engine, relabelled(t, rules[1:], engine), "another's container of the same name is another's")
	idle := map[string]string{"UUID": "GPU-1"}
	require.Equal(t, idle, relabelled(t, rules[1:], idle))
}

// relabelled is what Prometheus makes of the labels of a series by rules that replace, with the default replacement.
func relabelled(t *testing.T, rules []relabeling, labels map[string]string) map[string]string {
	t.Helper()
	out := maps.Clone(labels)
	for _, r := range rules {
		require.Empty(t, r.Action)
		var values []string
		for _, name := range r.SourceLabels {
			values = append(values, out[name])
		}
		expression := regexp.MustCompile("^(?s:" + r.Regex + ")$")
		at := expression.FindStringSubmatchIndex(strings.Join(values, ";"))
		if at == nil {
			continue
		}
		if value := expression.ExpandString(nil, "$1", strings.Join(values, ";"), at); len(value) > 0 {
			out[r.TargetLabel] = string(value)
		} else {
			delete(out, r.TargetLabel)
		}
	}
	return out
}

// One object, in our namespace: one in a namespace that is not there would fail the release.
func TestSidecarsOfAllNamespacesHaveOnePodMonitor(t *testing.T) {
	rendered := objects(t, Options{APIVersions: monitoringAPIs[:2],
		Values: parse(t, "{nodeGroups: ["+everyVendor(t)+"], exporter: {mode: Sidecar, sidecar: {namespaces: [\"1e3\", research], interval: 7s}}}")})
	monitors := podMonitors(t, rendered)
	require.Len(t, monitors, 2)
	m := monitors["exporter-sidecars"]
	require.Equal(t, "gpu-dra-system", m.Metadata.Namespace)
	require.Equal(t, []string{"1e3", "research"}, m.Spec.NamespaceSelector.MatchNames)
	require.Equal(t, map[string]string{"gpu-dra.deckhouse.io/exporter": "sidecar"}, m.Spec.Selector.MatchLabels)
	endpoint := m.Spec.PodMetricsEndpoints[0]
	require.Equal(t, "gpu-metrics", endpoint.Port)
	require.Equal(t, "7s", endpoint.Interval)
	labels, drop := set(endpoint.Relabelings)
	require.Equal(t, "gpu-dra-sidecar", labels["job"])
	// A pod can't say that it is another one.
	for _, kept := range []string{"namespace", "pod"} {
		require.NotRegexp(t, "^(?:"+drop+")$", kept)
	}
	for _, o := range rendered {
		if o.GetNamespace() != "" {
			require.NotContains(t, []string{"1e3", "research"}, o.GetNamespace())
		}
	}
}

// rule is an alerting or a recording rule.
type rule struct {
	Alert       string            `json:"alert"`
	Record      string            `json:"record"`
	Expr        string            `json:"expr"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

func prometheusRules(t *testing.T, rendered []client.Object) (out []rule, labels map[string]string) {
	t.Helper()
	object := Find[*unstructured.Unstructured](rendered, "gpu-dra")
	require.Equal(t, "PrometheusRule", object.GetKind())
	data, err := yaml.Marshal(object.Object["spec"])
	require.NoError(t, err)
	spec := struct {
		Groups []struct {
			Name  string `json:"name"`
			Rules []rule `json:"rules"`
		} `json:"groups"`
	}{}
	require.NoError(t, yaml.Unmarshal(data, &spec))
	names := map[string]bool{}
	for _, g := range spec.Groups {
		require.False(t, names[g.Name], g.Name)
		names[g.Name] = true
		out = append(out, g.Rules...)
	}
	return out, object.GetLabels()
}

// allMonitoring renders all rules there are, as Deckhouse and others have them.
func allMonitoring(t *testing.T, deckhouse bool) []client.Object {
	t.Helper()
	settings := parse(t, "nodeGroups: ["+everyVendor(t)+"]")
	if deckhouse {
		apis := values.MonitoringAPIs{PodMonitor: true, PrometheusRule: true, GrafanaDashboard: true}
		return objects(t, Options{Values: underHooks(t, settings, values.Internal{Cluster: values.Cluster{Distribution: "Deckhouse", MonitoringAPIs: apis}})})
	}
	return objects(t, Options{Values: settings, APIVersions: monitoringAPIs[:2]})
}

// everyRule are the rules of both modes of exporters: one render has those of its own mode only.
func everyRule(t *testing.T) []rule {
	t.Helper()
	all, _ := prometheusRules(t, allMonitoring(t, false))
	known := map[string]bool{}
	for _, r := range all {
		known[r.Alert] = true
	}
	sidecars, _ := prometheusRules(t, objects(t, Options{APIVersions: monitoringAPIs[:2],
		Values: parse(t, "{nodeGroups: ["+everyVendor(t)+"], exporter: {mode: Sidecar, sidecar: {namespaces: [x]}}}")}))
	for _, r := range sidecars {
		if r.Alert != "" && !known[r.Alert] {
			all = append(all, r)
		}
	}
	return all
}

var heading = regexp.MustCompile(`(?m)^## (\S+)$`)

// Each alert leads to its runbook, in both languages, and no runbook is left of an alert that is gone.
func TestEveryAlertHasItsRunbook(t *testing.T) {
	var alerts []string
	for _, r := range everyRule(t) {
		if r.Alert == "" {
			continue
		}
		alerts = append(alerts, r.Alert)
		require.NotEmpty(t, r.Annotations["summary"], r.Alert)
		require.NotEmpty(t, r.Annotations["description"], r.Alert)
		require.Contains(t, []string{"critical", "warning", "info"}, r.Labels["severity"], r.Alert)
		require.Equal(t, "https://github.com/gpu-dra/gpu-dra/blob/main/docs/runbooks.md#"+strings.ToLower(r.Alert), r.Annotations["runbook_url"])
	}
	for _, page := range []string{"runbooks.md", "runbooks.ru.md"} {
		data, err := os.ReadFile(filepath.Join(Root(), "docs", page))
		require.NoError(t, err)
		var found []string
		for _, m := range heading.FindAllStringSubmatch(string(data), -1) {
			found = append(found, m[1])
		}
		require.ElementsMatch(t, alerts, found, page)
	}
}

// Alerts are about what is there: without our PodMonitors nobody knows the name of a scrape's job.
func TestAlertsThatHaveNothingToLookAtAreLeftOut(t *testing.T) {
	controller := []string{"GPUDRAControllerDown", "GPUDRAControllerNotSynced"}
	onNodes := []string{"GPUDRAExporterDown", "GPUDRAExporterMissing", "GPUDRAExporterStale"}
	inPods := []string{"GPUDRASidecarFailing"}
	const sidecars = "exporter: {mode: Sidecar, sidecar: {namespaces: [x]}}\n"
	for name, c := range map[string]struct {
		settings string
		with     [][]string
		without  [][]string
	}{
		"all":                      {"", [][]string{controller, onNodes}, [][]string{inPods}},
		"no PodMonitor":            {"monitoring: {podMonitor: Never}", nil, [][]string{controller, onNodes, inPods}},
		"no exporter":              {"exporter: {mode: 'Off'}", [][]string{controller}, [][]string{onNodes, inPods}},
		"sidecars":                 {sidecars, [][]string{controller, inPods}, [][]string{onNodes}},
		"sidecars nowhere":         {"exporter: {mode: Sidecar}", [][]string{controller}, [][]string{onNodes, inPods}},
		"sidecars, no PodMonitor":  {sidecars + "monitoring: {podMonitor: Never}", nil, [][]string{controller, onNodes, inPods}},
		"namespaces left from one": {"exporter: {sidecar: {namespaces: [x]}}", [][]string{onNodes}, [][]string{inPods}},
	} {
		t.Run(name, func(t *testing.T) {
			all, _ := prometheusRules(t, objects(t, Options{Values: parse(t, "nodeGroups: ["+everyVendor(t)+"]\n"+c.settings), APIVersions: monitoringAPIs[:2]}))
			alerts := map[string]bool{}
			for _, r := range all {
				alerts[r.Alert] = true
			}
			for _, a := range slices.Concat(c.with...) {
				require.True(t, alerts[a], a)
			}
			for _, a := range slices.Concat(c.without...) {
				require.False(t, alerts[a], a)
			}
		})
	}
}

// Under hooks gpu-dra switches CDI on, and the version of the runtime never says so: the doubt would last for good.
func TestTheDoubtAboutCDIIsWhereNobodyPreparesNodes(t *testing.T) {
	has := func(rendered []client.Object) (doubt, notReady bool) {
		all, _ := prometheusRules(t, rendered)
		for _, r := range all {
			doubt = doubt || r.Alert == "GPUDRARuntimeDoubt"
			notReady = notReady || r.Alert == "GPUDRARuntimeNotReady"
		}
		return doubt, notReady
	}
	doubt, notReady := has(allMonitoring(t, false))
	require.True(t, doubt)
	require.True(t, notReady)
	doubt, notReady = has(allMonitoring(t, true))
	require.False(t, doubt)
	require.True(t, notReady)
	doubt, _ = has(objects(t, Options{Values: parse(t, "{distribution: Deckhouse, nodeGroups: ["+everyVendor(t)+"]}"), APIVersions: monitoringAPIs}))
	require.True(t, doubt, "plain Helm writes no NodeGroupConfiguration")
}

// What Deckhouse's Prometheus selects by, and what its linter asks of rules.
func TestRulesOnDeckhouse(t *testing.T) {
	all, labels := prometheusRules(t, allMonitoring(t, true))
	require.Equal(t, "main", labels["prometheus"])
	require.Equal(t, "rules", labels["component"])
	for _, r := range all {
		if r.Record != "" {
			require.Equal(t, "dkp", r.Labels["d8_source"], r.Record)
			continue
		}
		require.NotEmpty(t, r.Labels["severity_level"], r.Alert)
		require.Equal(t, "1", r.Annotations["plk_protocol_version"], r.Alert)
		require.Equal(t, "markdown", r.Annotations["plk_markup_format"], r.Alert)
	}
	all, labels = prometheusRules(t, allMonitoring(t, false))
	require.NotContains(t, labels, "prometheus")
	for _, r := range all {
		require.NotContains(t, r.Labels, "severity_level")
		require.NotContains(t, r.Labels, "d8_source")
	}
}

var (
	matcher = regexp.MustCompile(`kind="(\w+)", type="(\w+)"([^}]*)`)
	reasons = regexp.MustCompile(`reason[=!~]+"([\w|]+)"`)
)

// An alert on a condition or a reason that nobody writes would never fire.
func TestAlertsNameConditionsThatExist(t *testing.T) {
	known := map[string]bool{}
	for _, e := range condition.Reasons() {
		known[e.Kind+" "+e.Type] = true
		known[e.Kind+" "+e.Type+" "+e.Reason] = true
	}
	found := 0
	for _, r := range everyRule(t) {
		named := matcher.FindAllStringSubmatch(r.Expr, -1)
		require.Len(t, named, strings.Count(r.Expr, "gpu_dra_condition{"), r.Expr)
		for _, m := range named {
			require.True(t, known[m[1]+" "+m[2]], r.Expr)
			named := reasons.FindAllStringSubmatch(m[3], -1)
			require.Len(t, named, strings.Count(m[3], "reason"), r.Expr)
			for _, list := range named {
				for _, reason := range strings.Split(list[1], "|") {
					require.True(t, known[m[1]+" "+m[2]+" "+reason], "%s: %s", r.Expr, reason)
				}
			}
			found++
		}
	}
	require.Positive(t, found)
}
