package charttest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// Where no hooks judge a profile of the user's own, the chart refuses what would spoil its objects, in the words of Go.
func TestFaultsOfOwnProfiles(t *testing.T) {
	t.Parallel()
	profile := func(more string) string {
		return "customDrivers: [{name: acme, driverName: npu.acme.example, " + more + "}]"
	}
	plugin := func(more string) string {
		return profile("gates: [{name: A}], plugin: {image: {repository: r.example/a, tag: v1.0.0}, " + more + "}")
	}
	exporter := func(more string) string {
		return profile("exporter: {image: {repository: r.example/a, tag: v1.0.0}, port: 9000, " + more + "}")
	}
	names := func(more string) string { return exporter("metricNames: {labels: {accelerator: uuid}, " + more + "}") }
	mounts := func(more string) string { return plugin("containers: [{name: a, mounts: [" + more + "]}]") }
	for in, field := range map[string]string{
		profile("classes: [{name: a.b, expression: 'true'}, {name: a.b, expression: 'false'}]"):                                  "classes[1].name",
		profile("classes: [{name: a.b, choice: Any, expression: 'true'}, {name: a.c, choice: Any, expression: 'true'}]"):         "classes[1].choice",
		profile("gates: [{name: A}, {name: A}]"):                                                                                 "gates[1].name",
		profile("gates: [{name: A, excludes: [B]}]"):                                                                             "gates[0].excludes[0]",
		profile("gates: [{name: B}, {name: A, requires: [B, A]}]"):                                                               "gates[1].requires[1]",
		plugin("containers: [{name: a, when: {gate: A}}]"):                                                                       "plugin.containers",
		plugin("containers: [{name: a}, {name: a}]"):                                                                             "plugin.containers[1].name",
		plugin("containers: [{name: guard}]"):                                                                                    "plugin.containers[0].name",
		plugin("containers: [{name: a, args: ['--x={nodeName}']}]"):                                                              "plugin.containers[0].args[0]",
		plugin("containers: [{name: a, env: [{name: X, value: '{kubletRoot}/plugins'}]}]"):                                       "plugin.containers[0].env[0].value",
		plugin("containers: [{name: a, env: [{name: X, value: a}, {name: X, value: b}]}]"):                                       "plugin.containers[0].env[1].name",
		plugin("containers: [{name: a, env: [{name: X, value: a, when: {gate: B}}]}]"):                                           "plugin.containers[0].env[0].when.gate",
		plugin("containers: [{name: a}, {name: b, when: {gate: B}}]"):                                                            "plugin.containers[1].when.gate",
		plugin("containers: [{name: a, healthPort: 9000}, {name: b, metricsPort: 9000}]"):                                        "plugin.containers[1].metricsPort",
		plugin("containers: [{name: a}], logLevels: {min: 1, max: 5}"):                                                           "plugin.logLevels",
		plugin("containers: [{name: a, args: ['-v={logLevel}']}], logLevels: {min: 5, max: 1}"):                                  "plugin.logLevels",
		plugin("containers: [{name: a}], perPodSockets: true"):                                                                   "plugin.perPodSockets",
		plugin("containers: [{name: a}], waitFor: [{what: x, hostPath: '/{image}', anyOf: [b]}]"):                                "plugin.waitFor[0].hostPath",
		plugin("containers: [{name: a}], waitFor: [{what: x, hostPath: /a, anyOf: ['{cdiRoot}']}]"):                              "plugin.waitFor[0].anyOf[0]",
		plugin("containers: [{name: a}], rules: [{apiGroups: [''], resources: [nodes], verbs: [get], when: {gate: B}}]"):         "plugin.rules[0].when.gate",
		plugin("containers: [{name: a}], namespaceRules: [{apiGroups: [''], resources: [pods], verbs: [get], when: {gate: B}}]"): "plugin.namespaceRules[0].when.gate",
		plugin("containers: [{name: a, env: [{name: X, value: a, when: {profiling: true}}]}]"):                                   "plugin.containers[0].env[0].when",
		plugin("containers: [{name: a, resources: {requests: {cpu: 2}, limits: {cpu: 1}}}]"):                                     "plugin.containers[0].resources.requests[cpu]",
		exporter("resources: {limits: {memroy: 1Gi}}"):                                                                           "exporter.resources.limits[memroy]",
		exporter("command: [/a], sidecar: {resources: {requests: {a.example/b: 1}}}"):                                            "exporter.sidecar.resources.requests[a.example/b]",
		exporter("args: ['{logLevel}']"):                                                                                         "exporter.args[0]",
		exporter("env: [{name: X, value: '{counters}'}]"):                                                                        "exporter.env[0].value",
		exporter("env: [{name: X, value: a}, {name: X, value: b}]"):                                                              "exporter.env[1].name",
		exporter("env: [{name: X, value: a, when: {gate: A}}]"):                                                                  "exporter.env[0].when",
		exporter("env: [{name: X, value: a, when: {adminClaim: true}}]"):                                                         "exporter.env[0].when.adminClaim",
		exporter("mounts: [{name: gpu-dra-config, hostPath: /a}]"):                                                               "exporter.mounts[0].name",
		exporter("mounts: [{name: x, hostPath: /a, path: /x/}, {name: z, hostPath: /b, path: /x}]"):                              "exporter.mounts[1].path",
		exporter("config: {path: /a, files: {b: c}}, mounts: [{name: x, hostPath: /a}]"):                                         "exporter.mounts[0].path",
		exporter("mounts: [{name: x, hostPath: /var/run/secrets/kubernetes.io/serviceaccount}]"):                                 "exporter.mounts[0].path",
		exporter("mounts: [{name: x, hostPath: '/{image}'}]"):                                                                    "exporter.mounts[0].hostPath",
		exporter("waitFor: [{what: x, hostPath: /a, anyOf: ['{cdiRoot}']}]"):                                                     "exporter.waitFor[0].anyOf[0]",
		exporter("health: {path: /, port: 9000}"):                                                                                "exporter.health.port",
		exporter("adminClaim: {class: a.b}"):                                                                                     "exporter.adminClaim.class",
		exporter("config: {path: /a, files: {b: '{kubeletRoot}'}}"):                                                              "exporter.config.files[b]",
		exporter("config: {path: /a, files: {'a/b': x}}"):                                                                        "exporter.config.files[a/b]",
		exporter("memory: {base: 1Mi, perDevice: 1Mi}, resources: {limits: {memory: 1Gi}}"):                                      "exporter.resources.limits[memory]",
		exporter("config: {path: /a, files: {}}"):                                                                                "exporter.config.files",
		exporter("sidecar: {}"): "exporter.command",
		exporter("command: [/a], sidecar: {env: [{name: X, value: '{namespace}'}]}"):                                   "exporter.sidecar.env[0].value",
		exporter("command: [/a], sidecar: {resources: {limits: {memory: '0'}}}"):                                       "exporter.sidecar.resources.limits[memory]",
		exporter("command: [/a], sidecar: {resources: {requests: {cpu: 50m}, limits: {cpu: 100m}}}"):                   "exporter.sidecar.resources.requests[cpu]",
		exporter("command: [/a], sidecar: {resources: {requests: {memory: 1Gi}}}"):                                     "exporter.sidecar.resources.requests[memory]",
		exporter("memory: {base: 100Mi, perDevice: 1Mi}, resources: {requests: {memory: 101Mi}}"):                      "exporter.resources.requests[memory]",
		exporter("metrics: {default: [{name: a, type: gauge, help: a}, {name: a, type: gauge, help: b}]}"):             "exporter.metrics.default[1].name",
		exporter("metrics: {default: [{name: a, type: gauge, help: a}], optional: [{name: a, type: gauge, help: b}]}"): "exporter.metrics.optional[0].name",
		exporter("command: [/a], sidecar: {args: ['{kubeletRoot}']}"):                                                  "exporter.sidecar.args[0]",
		names("series: {power: [{metrics: [p], match: {'a\"} or b #': x}}]}"):                                          "exporter.metricNames.series[power][0].match[a\"} or b #]",
		names("renamed: [{was: a, now: c}, {was: a, now: b}]"):                                                         "exporter.metricNames.renamed[1].was",
		names("renamed: [{was: a, now: b}, {was: b, now: c}]"):                                                         "exporter.metricNames.renamed[0].now",
		names("renamed: [{was: up, now: b}]"):                                                                          "exporter.metricNames.renamed[0].was",
		names("renamedLabels: [{was: a, now: b}, {was: b, now: a}]"):                                                   "exporter.metricNames.renamedLabels[1].now",
		names("renamed: [{was: a, now: a}]"):                                                                           "exporter.metricNames.renamed[0].now",
		names("renamedLabels: [{was: a, now: b}, {was: a, now: a}]"):                                                   "exporter.metricNames.renamedLabels[1].now",
		mounts("{name: x, hostPath: '/a/{logLevel}'}"):                                                                 "plugin.containers[0].mounts[0].hostPath",
		mounts("{name: x, hostPath: /a, path: '/a/{image}'}"):                                                          "plugin.containers[0].mounts[0].path",
		mounts("{name: guard-wait-0, hostPath: /a}"):                                                                   "plugin.containers[0].mounts[0].name",
		mounts("{name: x, hostPath: /a}, {name: x, hostPath: /b}"):                                                     "plugin.containers[0].mounts[1].name",
		mounts("{name: x, hostPath: /a}, {name: x, hostPath: /a, type: Directory, path: /b}"):                          "plugin.containers[0].mounts[1].name",
		mounts("{name: x, hostPath: /a}, {name: z, hostPath: /b, path: /a}"):                                           "plugin.containers[0].mounts[1].path",
		mounts("{name: x, hostPath: /a, propagation: Bidirectional}"):                                                  "plugin.containers[0].mounts[0].propagation",
	} {
		raw, err := json.Marshal(parse(t, in))
		require.NoError(t, err)
		s, err := settings.FromValues(raw)
		require.NoError(t, err, in)
		_, problems := settings.Profiles(s)
		byGo := map[string]bool{}
		for _, p := range problems {
			byGo[p.String()] = true
		}
		got := refusal(t, Options{Values: parse(t, in)})
		require.Contains(t, got, "\n- customDrivers[0]."+field+": found ", in)
		for _, line := range strings.Split(got, "\n- ")[1:] {
			require.Contains(t, byGo, line, in)
		}
		// Hooks leave such a profile out, and the controller reports it.
		internal := values.Internal{Cluster: values.Cluster{RefusedDrivers: []string{"acme"}}}
		require.Empty(t, refusal(t, Options{Values: underHooks(t, parse(t, in), internal)}), in)
	}
	long := strings.Repeat("a", 57)
	refused(t, map[string][]string{
		strings.Replace(plugin("containers: [{name: a}]"), "name: acme", "name: "+long, 1):     {`- customDrivers[0].name: found "` + long + `", expected at most 56`},
		strings.Replace(plugin("containers: [{name: a}]"), "name: acme", "name: "+long[1:], 1): {},
		strings.Replace(profile("classes: []"), "name: acme", "name: "+long, 1):                {},
	})
	refused(t, map[string][]string{
		plugin("containers: [{name: a, env: [{name: V, value: '{logLevel}'}]}], logLevels: {min: 1, max: 1}"): {},
		plugin("containers: [{name: a, args: ['{logLevel}']}], logLevels: {min: 0, max: 11}"):                 {"/customDrivers/0/plugin/logLevels/max"},
		plugin("containers: [{name: a, args: ['{logLevel}']}], logLevels: {min: 1}"):                          {"/customDrivers/0/plugin/logLevels"},
		// Braces that are no tokens.
		plugin(`containers: [{name: a, args: ['{"a": 1}', '${HOME}', '{a-b}'], env: [{name: X, value: '{featureGates}'}]}]`): {},
	})
}
