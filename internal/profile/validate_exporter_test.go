package profile

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// validExporter uses every part of the shape.
func validExporter() *Exporter {
	return &Exporter{
		Image: PluginImage{Repository: "registry.acme.example/exporter", Tag: "v2.1.0"}, MinVersion: "2.0.0",
		Port: 9500, MetricsPath: "/stats", Health: &ExporterHealth{Path: "/live", Port: 9501},
		Command: []string{"acme-exporter"}, Args: []string{"--listen={listen}"},
		Env: []Env{{Name: "INTERVAL", Value: "{intervalMs}", When: &When{AdminClaim: true}}}, RunAsUser: 1000,
		Capabilities: []ExporterCapability{{Name: "SYS_ADMIN", Reason: "counters", When: &When{Profiling: true}}},
		Mounts:       []Mount{{Name: "pods", HostPath: "{kubeletRoot}/pod-resources", Path: "/pods"}},
		WaitFor:      []Wait{{What: "library", HostPath: "/opt/acme", AnyOf: []string{"lib/libacme.so"}}},
		Tolerations:  []corev1.Toleration{{Key: "acme.example/npu", Operator: corev1.TolerationOpExists}},
		AdminClaim:   &AdminClaim{Class: "npu.acme.example", StaticClass: "part.acme.example"},
		Rules:        []Rule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list"}, When: &When{KubernetesSince: "1.36"}}},
		Config:       &ExporterConfig{Path: "/etc/acme", Files: map[string]string{"metrics.csv": "{counters}"}},
		Metrics: ExporterMetrics{
			Default: []Counter{{"ACME_BUSY", "gauge", "Busy, in percent."}}, Profiling: []Counter{{"ACME_PROF_PIPE", "gauge", "Pipe."}},
			Optional: []Counter{{"ACME_ECC", "counter", "Errors."}}, Prefixes: []string{"ACME_"}, ProfilingPrefixes: []string{"ACME_PROF_"},
		},
		Resources: &ContainerResources{Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		Memory:    &ExporterMemory{Base: "256Mi", PerDevice: "0Mi", GoPercent: 90},
		MetricNames: &MetricNames{
			Labels:  map[string]string{"accelerator": "uuid"},
			Series:  map[string][]MetricSeries{"power": {{Metrics: []string{"acme_power"}, Match: map[string]string{"kind": "a b"}, Factor: 0.001, Aggregate: "sum"}}},
			Renamed: []Renamed{{Was: "a", Now: "b"}}, RenamedLabels: []RenamedLabel{{Was: "a", Now: "b"}},
		},
		Sidecar: &ExporterSidecar{Args: []string{"--listen={listen}"}, Env: []SidecarEnv{{Name: "A", Value: "{config}/metrics.csv"}}, Resources: &ContainerResources{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")}, Limits: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m")},
		}},
		Unverified: []string{"its numbers"},
	}
}

func TestValidateNamesTheFieldOfAnExporter(t *testing.T) {
	for name, c := range map[string]struct {
		breakIt func(e *Exporter)
		want    string
	}{
		"repository":    {func(e *Exporter) { e.Image.Repository = "" }, `exporter.image.repository: found ""`},
		"tag":           {func(e *Exporter) { e.Image.Tag = "a b" }, `exporter.image.tag: found "a b", expected a tag`},
		"no version":    {func(e *Exporter) { e.Image.Tag = "latest" }, `exporter.image.tag: found "latest", expected a tag with a version`},
		"min version":   {func(e *Exporter) { e.MinVersion = "2" }, `exporter.minVersion: found "2", expected a version such as 4.8.3`},
		"port":          {func(e *Exporter) { e.Port = 0 }, `exporter.port: found 0, expected the port of the metrics`},
		"path":          {func(e *Exporter) { e.MetricsPath = "metrics" }, `exporter.path: found "metrics", expected a path of a URL`},
		"no element":    {func(e *Exporter) { e.MetricsPath = "/a//b" }, `exporter.path: found "/a//b", expected a path of a URL`},
		"two slashes":   {func(e *Exporter) { e.MetricsPath = "//metrics" }, `exporter.path: found "//metrics", expected a path of a URL`},
		"a dot":         {func(e *Exporter) { e.MetricsPath = "/./m" }, `exporter.path: found "/./m", expected a path of a URL`},
		"upwards":       {func(e *Exporter) { e.Health.Path = "/a/../b" }, `exporter.health.path: found "/a/../b", expected a path of a URL`},
		"health":        {func(e *Exporter) { e.Health.Path = "" }, `exporter.health.path: found ""`},
		"health port":   {func(e *Exporter) { e.Health.Port = e.Port }, `exporter.health.port: found 9500, expected a port that nothing else`},
		"command":       {func(e *Exporter) { e.Command[0] = "a{port}" }, `exporter.command[0]: found "a{port}", expected no token`},
		"args":          {func(e *Exporter) { e.Args[0] = "{featureGates}" }, `exporter.args[0]: found "{featureGates}", expected one of the tokens {namespace}, {listen}`},
		"env":           {func(e *Exporter) { e.Env[0].Name = "a-b" }, `exporter.env[0].name: found "a-b"`},
		"user":          {func(e *Exporter) { e.RunAsUser = -1 }, `exporter.runAsUser: found -1`},
		"large user":    {func(e *Exporter) { e.RunAsUser = 1 << 31 }, `exporter.runAsUser: found 2147483648, expected the number of a user, at most 2147483647`},
		"request":       {func(e *Exporter) { e.Resources.Requests = memory("257Mi") }, `exporter.resources.requests[memory]: found "257Mi", expected at most exporter.memory.base, which is 256Mi`},
		"privileged":    {func(e *Exporter) { e.Privileged = "because" }, `exporter.capabilities: found 1, expected none in a privileged container`},
		"capability":    {func(e *Exporter) { e.Capabilities[0].Name = "ALL" }, `exporter.capabilities[0].name: found "ALL"`},
		"reason":        {func(e *Exporter) { e.Capabilities[0].Reason = " " }, `exporter.capabilities[0].reason: found " ", expected why it is needed`},
		"mount":         {func(e *Exporter) { e.Mounts[0].HostPath = "pods" }, `exporter.mounts[0].hostPath: found "pods"`},
		"own volume":    {func(e *Exporter) { e.Mounts[0].Name = "gpu-dra-token" }, `exporter.mounts[0].name: found "gpu-dra-token", expected a name that does not begin with gpu-dra-`},
		"wait":          {func(e *Exporter) { e.WaitFor[0].AnyOf = nil }, `exporter.waitFor[0].anyOf: found none`},
		"toleration":    {func(e *Exporter) { e.Tolerations[0].Operator = "In" }, `exporter.tolerations[0].operator: found "In"`},
		"class":         {func(e *Exporter) { e.AdminClaim.Class = "x" }, `exporter.adminClaim.class: found "x", expected one of the profile's classes`},
		"static class":  {func(e *Exporter) { e.AdminClaim.StaticClass = "x" }, `exporter.adminClaim.staticClass: found "x"`},
		"rule":          {func(e *Exporter) { e.Rules[0].Verbs[0] = "*" }, `exporter.rules[0].verbs[0]: found "*"`},
		"when":          {func(e *Exporter) { e.Rules[0].When = &When{Gate: "Slices"} }, `exporter.rules[0].when: found gate, computeDomains or since, expected none of them`},
		"no condition":  {func(e *Exporter) { e.Env[0].When = &When{} }, `exporter.env[0].when: found nothing, expected at least one of profiling`},
		"no claim":      {func(e *Exporter) { e.AdminClaim = nil }, `exporter.env[0].when.adminClaim: found true, expected none without exporter.adminClaim`},
		"minor":         {func(e *Exporter) { e.Mounts[0].When = &When{KubernetesSince: "1.36.2"} }, `exporter.mounts[0].when.kubernetesSince: found "1.36.2"`},
		"config path":   {func(e *Exporter) { e.Config.Path = "/" }, `exporter.config.path: found "/"`},
		"no files":      {func(e *Exporter) { e.Config.Files = nil }, `exporter.config.files: found none`},
		"file":          {func(e *Exporter) { e.Config.Files = map[string]string{"../a": ""} }, `exporter.config.files[../a]: found "../a", expected the name of a file`},
		"file token":    {func(e *Exporter) { e.Config.Files["metrics.csv"] = "{kubeletRoot}" }, `exporter.config.files[metrics.csv]: found "{kubeletRoot}", expected one of the tokens {counters}`},
		"counter":       {func(e *Exporter) { e.Metrics.Optional[0].Name = "ACME_BUSY" }, `exporter.metrics.optional[0].name: found "ACME_BUSY", expected a metric's name that the profile does not already have`},
		"type":          {func(e *Exporter) { e.Metrics.Default[0].Type = "Gauge" }, `exporter.metrics.default[0].type: found "Gauge", expected one of "gauge"`},
		"help":          {func(e *Exporter) { e.Metrics.Default[0].Help = "a\n\"b\"" }, `exporter.metrics.default[0].help: found "a\n\"b\"", expected what it is, in one line`},
		"prefix":        {func(e *Exporter) { e.Metrics.Prefixes[0] = "a b" }, `exporter.metrics.prefixes[0]: found "a b"`},
		"base":          {func(e *Exporter) { e.Memory.Base = "1Gi" }, `exporter.memory.base: found "1Gi", expected a number of Mi`},
		"per device":    {func(e *Exporter) { e.Memory.PerDevice = "" }, `exporter.memory.perDevice: found ""`},
		"percent":       {func(e *Exporter) { e.Memory.GoPercent = 101 }, `exporter.memory.goPercent: found 101`},
		"two limits":    {func(e *Exporter) { e.Resources.Limits[corev1.ResourceMemory] = resource.MustParse("1Gi") }, `exporter.resources.limits[memory]: found "1Gi", expected none with exporter.memory`},
		"accelerator":   {func(e *Exporter) { e.MetricNames.Labels = nil }, `exporter.metricNames.labels[accelerator]: found ""`},
		"label":         {func(e *Exporter) { e.MetricNames.Labels["pod"] = "a-b" }, `exporter.metricNames.labels[pod]: found "a-b"`},
		"common label":  {func(e *Exporter) { e.MetricNames.Labels["node"] = "n" }, `exporter.metricNames.labels[node]: found "node", expected one of "accelerator"`},
		"series":        {func(e *Exporter) { e.MetricNames.Series["speed"] = nil }, `exporter.metricNames.series[speed]: found "speed", expected one of "memoryUsed"`},
		"metric":        {func(e *Exporter) { e.MetricNames.Series["power"][0].Metrics[0] = "a b" }, `exporter.metricNames.series[power][0].metrics[0]: found "a b"`},
		"match":         {func(e *Exporter) { e.MetricNames.Series["power"][0].Match["kind"] = `"} or up{a="` }, `exporter.metricNames.series[power][0].match[kind]: found`},
		"factor":        {func(e *Exporter) { e.MetricNames.Series["power"][0].Factor = -1 }, `exporter.metricNames.series[power][0].factor: found -1`},
		"aggregate":     {func(e *Exporter) { e.MetricNames.Series["power"][0].Aggregate = "avg" }, `exporter.metricNames.series[power][0].aggregate: found "avg"`},
		"renamed":       {func(e *Exporter) { e.MetricNames.Renamed[0].Now = "a" }, `exporter.metricNames.renamed[0].now: found "a", expected another name`},
		"renamed label": {func(e *Exporter) { e.MetricNames.RenamedLabels[0].Was = "" }, `exporter.metricNames.renamedLabels[0].was: found ""`},
		"sidecar":       {func(e *Exporter) { e.Command = nil }, `exporter.command: found none, expected the exporter's program`},
		"sidecar args":  {func(e *Exporter) { e.Sidecar.Args[0] = "{kubeletRoot}" }, `exporter.sidecar.args[0]: found "{kubeletRoot}"`},
		"sidecar env":   {func(e *Exporter) { e.Sidecar.Env[0].Value = "" }, `exporter.sidecar.env[0]: found value "" and field ""`},
		"no limit":      {func(e *Exporter) { e.Sidecar.Resources.Limits[corev1.ResourceMemory] = resource.Quantity{} }, `exporter.sidecar.resources.limits[memory]: found "0", expected an amount above 0`},
		"less asked": {func(e *Exporter) {
			e.Sidecar.Resources.Requests = corev1.ResourceList{"cpu": resource.MustParse("50m")}
		}, `exporter.sidecar.resources.requests[cpu]: found "50m", expected the amount that stands in limits, or none`},
		"unlimited":     {func(e *Exporter) { e.Sidecar.Resources.Requests = memory("1Gi") }, `exporter.sidecar.resources.requests[memory]: found "1Gi", expected the amount that stands in limits, or none`},
		"twice":         {func(e *Exporter) { e.MetricNames.Renamed = append(e.MetricNames.Renamed, Renamed{Was: "a", Now: "c"}) }, `exporter.metricNames.renamed[1].was: found "a", expected the name before, which no other entry has`},
		"a circle":      {func(e *Exporter) { e.MetricNames.Renamed = append(e.MetricNames.Renamed, Renamed{Was: "b", Now: "c"}) }, `exporter.metricNames.renamed[0].now: found "b", expected a name that no entry has for the one before`},
		"of Prometheus": {func(e *Exporter) { e.MetricNames.Renamed[0].Was = "up" }, `exporter.metricNames.renamed[0].was: found "up", expected a metric of the exporter`},
		"unverified":    {func(e *Exporter) { e.Unverified[0] = "" }, `exporter.unverified[0]: found ""`},
	} {
		t.Run(name, func(t *testing.T) {
			d := valid()
			c.breakIt(d.Exporter)
			require.ErrorContains(t, d.Validate(), c.want)
		})
	}
	d := valid()
	d.Plugin = nil
	d.Gates, d.KubernetesGates, d.Sharing = nil, nil, nil
	d.Name = strings.Repeat("a", 55)
	require.ErrorContains(t, d.Validate(), "expected at most 54 characters: pods of its exporter")
	d.Name = d.Name[1:]
	require.NoError(t, d.Validate())
}

func memory(amount string) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(amount)}
}

func TestPathsOfAnExporter(t *testing.T) {
	for _, path := range []string{"/", "/metrics", "/metrics/", "/a/b-c.d~e_f", "/-/x"} {
		d := valid()
		d.Exporter.MetricsPath = path
		require.NoError(t, d.Validate(), path)
	}
}

func TestConditionsOfAnExporterInAPlugin(t *testing.T) {
	d := valid()
	d.Plugin.Containers[0].Env[0].When = &When{Profiling: true}
	require.ErrorContains(t, d.Validate(), "plugin.containers[0].env[0].when: found profiling or adminClaim, expected neither")
}

func TestTooOld(t *testing.T) {
	e := Exporter{MinVersion: "4.8.3"}
	for tag, want := range map[string]bool{
		"4.5.3-4.8.2": true, "4.6.0-4.8.3-distroless": false, "4.6.0-4.8.3-ubuntu22.04": false, "4.8.4": false, "v4.8.2": true,
		"4.10.0": false, "latest": false, "": false, "99999999999999999999.1.1": false,
	} {
		require.Equal(t, want, e.TooOld(tag), tag)
	}
	require.False(t, (&Exporter{}).TooOld("0.0.1"))
	require.Equal(t, "/metrics", e.Path())
}
