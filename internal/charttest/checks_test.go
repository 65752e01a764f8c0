package charttest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// refusal is what a render says of settings; empty: it renders.
func refusal(t *testing.T, o Options) string {
	t.Helper()
	chart, err := Load()
	require.NoError(t, err)
	_, _, err = Render(chart, o)
	if err == nil {
		return ""
	}
	return err.Error()
}

// refused checks a table of settings and the beginnings of what is said of them; none: they are accepted.
func refused(t *testing.T, table map[string][]string) {
	t.Helper()
	for in, says := range table {
		got := refusal(t, Options{Values: parse(t, in)})
		if len(says) == 0 {
			require.Empty(t, got, in)
		}
		for _, s := range says {
			require.Contains(t, got, s, in)
		}
	}
}

func TestRefusedAtRender(t *testing.T) {
	const at = "nodeSelector: {a: b}"
	refused(t, map[string][]string{
		"foo: 1": {"additional properties 'foo' not allowed"},
		"claimTemplates: [{name: a, driver: example, namespaces: [b], minMemory: 16GB}]": {"minMemory"},
		"cluster: {kubernetesVersion: '1.33.9'}":                                         {"/cluster/kubernetesVersion"},
		"cluster: {kubernetesVersion: v1.34.0-rc.1}":                                     {},
		"cluster: {kubernetesVersion: '1.40'}":                                           {},
		"nodeGroups: [{name: a, drivers: [example]}]":                                    {"- nodeGroups[0].nodeSelector: found none"},
		"nodeGroups: [{name: a, drivers: [example], nodeSelector: {a b: c}}]":            {"- nodeGroups[0].nodeSelector.a b: no label has such a key"},
		"nodeGroups: [{name: a, drivers: [example], nodeSelector: {a..b/c: d}}]":         {"- nodeGroups[0].nodeSelector.a..b/c: no label has such a key"},
		"nodeGroups: [{name: a, drivers: [example], nodeSelector: {e.f/a_B.c-d: c}}]":    {},
		"nodeGroups: [{name: a, drivers: [example], " + at + "}, {name: a, drivers: [example], " + at + "}]": {
			`- nodeGroups[1].name: found "a", which nodeGroups[0] has already; merge the two`},
		"monitoring: {labels: {re lease: a}}":                    {"- monitoring.labels.re lease: no label has such a key"},
		"monitoring: {labels: {a.b/release: a}}":                 {},
		"exporter: {interval: 100ms, sidecar: {interval: 999m}}": {},
		"exporter: {interval: 99999s}":                           {"/exporter/interval"},
		"exporter: {sidecar: {interval: 99ms}}":                  {"/exporter/sidecar/interval"},
		"claimTemplates: [{name: a, driver: example, namespaces: [b]}, {name: a, driver: example, namespaces: [c]}]": {
			`- claimTemplates[1].name: found "a"`},
		"customDrivers: [{name: a, driverName: a.b}, {name: a, driverName: c.d}]": {`- customDrivers[1].name: found "a"`},
		"deviceClasses: {extra: [{name: a.b, selectors: ['true']}, {name: a.b, selectors: ['true']}]}": {
			`- deviceClasses.extra[1].name: found "a.b"`},
		"deviceClasses: {extra: [{name: gpu.example.com, selectors: ['true']}]}": {
			`- deviceClasses.extra[0].name: found "gpu.example.com", which is a class of a driver profile`},
		"customDrivers: [{name: thief, driverName: gpu.example.com}]": {
			`- customDrivers[0].driverName: found "gpu.example.com", which the profile "example" describes already`},
		"customDrivers: [{name: a, driverName: a.b}, {name: c, driverName: c.d, otherDrivers: [e.f, a.b]}]": {
			`- customDrivers[1].otherDrivers[1]: found "a.b", which the profile "a" describes already`},
		"customDrivers: [{name: a, driverName: a.b, classes: [{name: gpu.example.com, expression: 'true'}]}]": {
			`- customDrivers: profiles "a" and "example" both have a class "gpu.example.com"; rename one`},
		"nodeGroups: [{name: a, drivers: [example], " + at + ", driverOverrides: {nvidia: {logLevel: 1}}}]": {
			"- nodeGroups[0].driverOverrides.nvidia: the group does not run this driver; add it to nodeGroups[0].drivers or remove the override"},
		"nodeGroups: [{name: a, drivers: [example], " + at + ", passthrough: true}]": {
			"- nodeGroups[0].passthrough: found true, expected a driver with a class for virtual machines (choice Passthrough) or a gate for it, which example has not"},
		"nodeGroups: [{name: a, drivers: [example, nvidia], " + at + ", passthrough: true}]": {},
	})
}

// The API server refuses a pod with such a toleration, and with it half of a release.
func TestTolerationsThatTheAPIServerRefuses(t *testing.T) {
	for in, good := range map[string]bool{
		"{}":                                     false,
		"{operator: Equal, value: a}":            false,
		"{key: '', value: a}":                    false,
		"{operator: Exists}":                     true,
		"{key: '', operator: Exists, value: ''}": true,
		"{key: a}":                               true,
		"{key: a, operator: Exists, value: b}":   false,
		"{key: a, operator: Equal, value: b}":    true,
		"{key: a, value: b c}":                   false,
		"{key: a b, operator: Exists}":           false,
		"{key: a..b/c, operator: Exists}":        false,
		"{key: a.b/c, operator: Exists, effect: NoExecute, tolerationSeconds: 3}": true,
		"{key: a.b/c, operator: Exists, tolerationSeconds: 0}":                    false,
		"{key: a, effect: NoSchedule, tolerationSeconds: 3}":                      false,
		// Helm's numbers are floating: the largest of Kubernetes would become the smallest.
		"{key: a, effect: NoExecute, tolerationSeconds: 9223372036854775807}": false,
	} {
		const driver = "{name: x, driverName: x.example, plugin: {image: {repository: r.example/x, tag: v1}, containers: [{name: x}], tolerations: ["
		got := refusal(t, Options{Values: parse(t, "nodeGroups: [{name: a, drivers: [example], nodeSelector: {a: b}, tolerations: ["+in+"]}]")})
		own := refusal(t, Options{Values: parse(t, "customDrivers: ["+driver+in+"]}}]")})
		if good {
			require.Empty(t, got+own, in)
			continue
		}
		require.Contains(t, got, "/nodeGroups/0/tolerations/0", in)
		require.Contains(t, own, "/customDrivers/0/plugin/tolerations/0", in)
	}
}

func TestRepositoriesHaveNoTag(t *testing.T) {
	for repository, good := range map[string]bool{
		"r.example/npu": true, "localhost:5000/a/b-c_d.e": true, "npu": true,
		"r.example/npu:v1": false, "r.example//npu": false, "r.example/npu/": false, "r.example:5000:6000/npu": false,
	} {
		plugin := refusal(t, Options{Values: parse(t, "customDrivers: [{name: x, driverName: x.example, plugin: {image: {repository: '"+repository+"', tag: v1}, containers: [{name: x}]}}]")})
		exporter := refusal(t, Options{Values: parse(t, "customDrivers: [{name: x, driverName: x.example, exporter: {image: {repository: '"+repository+"', tag: v1}, port: 9000}}]")})
		if good {
			require.Empty(t, plugin+exporter, repository)
			continue
		}
		require.Contains(t, plugin, "/customDrivers/0/plugin/image/repository", repository)
		require.Contains(t, exporter, "/customDrivers/0/exporter/image/repository", repository)
	}
}

// One render names everything that is wrong, so that nobody mends one thing at a time.
func TestEveryFaultIsNamedAtOnce(t *testing.T) {
	got := refusal(t, Options{Values: parse(t, `
nodeGroups: [{name: a, drivers: [nvdia]}, {name: a, drivers: [example], nodeSelector: {a: b}}]
drivers: {exmaple: {logLevel: 1}}
claimTemplates: [{name: a, driver: amb, namespaces: [b]}]
`)})
	for _, path := range []string{"nodeGroups[0].nodeSelector", "nodeGroups[0].drivers[0]", "nodeGroups[1].name", "drivers.exmaple", "claimTemplates[0].driver"} {
		require.Contains(t, got, "\n- "+path+": ")
	}
	require.Equal(t, 5, strings.Count(got, "\n- "), got)

	many := ""
	for range 30 {
		many += "- {name: a, drivers: [example]}\n"
	}
	got = refusal(t, Options{Values: parse(t, "nodeGroups:\n"+many)})
	require.Equal(t, 21, strings.Count(got, "\n- "), got)
	require.Contains(t, got, "\n- and 39 more", "30 without a selector, 29 of a name that is taken")
}

// What the controller reports of settings that reached it some other way is what the chart says.
func TestChartAndControllerSayTheSame(t *testing.T) {
	distributions, err := profile.Distributions()
	require.NoError(t, err)
	const intel = "customDrivers: [{name: intel, driverName: intel.example, plugin: {image: {repository: r, tag: v1}, containers: [{name: a}]}, exporter: {image: {repository: r, tag: v1}, port: 9000}}]\n"
	for _, in := range []string{
		"nodeGroups: [{name: a, drivers: [example]}]",
		"nodeGroups: [{name: a, drivers: [example], nodeSelector: {a b: c, a..b/c: x, A/b: c}}]",
		"monitoring: {labels: {-a: b, " + strings.Repeat("a", 64) + ": b, " + strings.Repeat("a", 254) + "/b: c}}",
		intel + "nodeGroups: [{name: gpu-a, drivers: [intel], nodeSelector: {a: b}}, {name: a, drivers: [intel-gpu], nodeSelector: {a: c}}]",
		"controller: {resources: {requests: {cpu: 2, memory: 1Gi, memroy: 1Gi}, limits: {cpu: 1, memory: 1Gi}}}",
		"drivers: {example: {resources: {requests: {memory: 2Gi}, limits: {memory: 1500M, 'gpu': 1}}, exporter: {resources: {requests: {hugepages-2Mi: 4Mi}}}}}",
		"drivers: {example: {resources: {limits: {a.example/b: 1500m, hugepages-2Mi: 3Mi, hugepages-x: 4Mi, requests.a/b: 1, memory: 1Gi}}, exporter: {resources: {limits: {hugepages-1Gi: 2Gi}}}}}",
		"nodeGroups: [{name: a, drivers: [example], nodeSelector: {a: b}, driverOverrides: {example: {resources: {requests: {a.example/b: 1, cpu: 250m}, limits: {a.example/b: 2, cpu: 200m}}, exporter: {resources: {limits: {'a b': 1}}}}}}]",
		"nodeGroups: [{name: a, drivers: [example, nvdia], nodeSelector: {a: b}}]",
		"nodeGroups: [{name: a, drivers: [example], nodeSelector: {a: b}}, {name: a, drivers: [example], nodeSelector: {a: b}}]",
		"nodeGroups: [{name: a, drivers: [example], nodeSelector: {a: b}, driverOverrides: {nvidia: {logLevel: 1}}}]",
		"drivers: {nvdia: {logLevel: 1}}",
		"drivers: {ascend: {featureGates: {B: true, A: false}, logLevel: 10}, rebellions: {logLevel: 3}, hygon: {logLevel: 6}}",
		"nodeGroups: [{name: a, drivers: [intel-gpu, hygon], nodeSelector: {a: b}, driverOverrides: {intel-gpu: {featureGates: {A: true}}, hygon: {logLevel: 0}}}]",
		"nodeGroups: [{name: a, drivers: [intel-gpu, intel-gaudi, nvidia], nodeSelector: {a: b}, kubeletRootDir: /data/kubelet/}]",
		"deviceClasses: {extra: [{name: gpu.example.com, selectors: ['true']}]}",
		"deviceClasses: {extra: [{name: a.b, selectors: ['true'], driver: nvdia}]}",
		"deviceClasses: {classes: {gpu.exmaple.com: {create: Never}}}",
		acme + "drivers: {nvdia: {}}\n",
		"customDrivers: [{name: a, driverName: a.b, classes: [{name: gpu.example.com, expression: 'true'}]}]",
	} {
		raw, err := json.Marshal(parse(t, in))
		require.NoError(t, err)
		s, err := settings.FromValues(raw)
		require.NoError(t, err)
		set, problems := settings.Profiles(s)
		require.Empty(t, problems)
		problems = settings.Problems(s, set, distributions["Vanilla"])
		require.NotEmpty(t, problems, in)
		got := refusal(t, Options{Values: parse(t, in)})
		for _, p := range problems {
			require.Contains(t, got, "\n- "+p.String(), in)
		}
	}
}

func TestClassesWithoutADriver(t *testing.T) {
	const class = "extra: [{name: a.example.com, selectors: ['true'], extendedResourceName: example.com/a}]"
	refused(t, map[string][]string{
		"deviceClasses: {" + class + "}": {
			"- deviceClasses.extra[0].driver: found none, expected the profile whose devices the class selects",
			"or set deviceClasses.classes.a.example.com.extendedResources to Always or Never"},
		"deviceClasses: {extendedResources: Never, " + class + "}":                                                        {},
		"deviceClasses: {classes: {a.example.com: {extendedResources: Always}}, " + class + "}":                           {},
		"deviceClasses: {extra: [{name: a.example.com, selectors: ['true']}]}":                                            {},
		"deviceClasses: {extra: [{name: a.example.com, selectors: ['true'], driver: nvdia}]}":                             {`- deviceClasses.extra[0].driver: found "nvdia"`},
		"deviceClasses: {classes: {gpu.exmaple.com: {create: Never}}}":                                                    {"- deviceClasses.classes.gpu.exmaple.com: no driver profile"},
		"deviceClasses: {classes: {gpu.example.com: {create: Never}}}":                                                    {},
		"deviceClasses: {classes: {a.example.com: {create: Never}}, extra: [{name: a.example.com, selectors: ['true']}]}": {},
	})
}

// A profile that hooks refused is a condition: neither its name nor its classes or gates are a fault of what names them.
func TestRefusedProfilesAreKnownUnderHooks(t *testing.T) {
	in := `
nodeGroups: [{name: a, drivers: [thief, example], passthrough: true, driverOverrides: {thief: {logLevel: 1}}}]
drivers: {thief: {featureGates: {A: true}}, nvidia: {featureGates: {Own: true}}}
claimTemplates: [{name: a, driver: thief, namespaces: [b]}]
customDrivers:
- {name: thief, driverName: gpu.example.com, classes: [{name: thief.example.com, expression: "true"}]}
- {name: nvidia, driverName: gpu.nvidia.com, topology: {PCIeRoot: nodomain}, gates: [{name: Own}]}
deviceClasses: {classes: {thief.example.com: {create: Never}}}
`
	internal := values.Internal{Cluster: values.Cluster{RefusedDrivers: []string{"nvidia", "thief"}}}
	require.Empty(t, refusal(t, Options{Values: underHooks(t, parse(t, in), internal)}))
	require.Contains(t, refusal(t, Options{Values: underHooks(t, parse(t, "nodeGroups: [{name: a, drivers: [nvdia]}]"), values.Internal{})}),
		`nodeGroups[0].drivers[0]: found "nvdia", expected one of: `)
}
