package settings

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParseFillsDefaults(t *testing.T) {
	for _, in := range []string{"", "{}", "null", "distribution: null\nmemoryReservation: null"} {
		s, err := Parse([]byte(in))
		require.NoError(t, err, in)
		require.Equal(t, "Auto", s.Distribution)
		require.Equal(t, "Auto", s.DeviceClasses.Create)
		require.Equal(t, "Advise", s.MemoryReservation.Mode)
		require.Equal(t, "479Mi", s.MemoryReservation.Base.String())
		require.InDelta(t, 1.1, s.MemoryReservation.Overhead, 0)
		require.Equal(t, "DaemonSet", s.Exporter.Mode)
		require.Equal(t, "5s", s.Exporter.Sidecar.Interval.Duration.String())
		require.EqualValues(t, 1, s.Controller.Replicas)
		require.Equal(t, "Ignore", s.Controller.Webhook.FailurePolicy)
	}
}

func TestParseFillsDefaultsInsideLists(t *testing.T) {
	s, err := Parse([]byte(`
nodeGroups:
- name: gpu-a100
  drivers: [nvidia]
claimTemplates:
- name: gpu-16gb-min
  namespaces: [inference]
  driver: nvidia
  minMemory: 16Gi
`))
	require.NoError(t, err)
	require.Equal(t, "None", s.NodeGroups[0].Partitioning)
	require.EqualValues(t, "Any", s.ClaimTemplates[0].Device)
	require.EqualValues(t, 1, s.ClaimTemplates[0].Count)
	require.Empty(t, s.ClaimTemplates[0].Fit, "its default depends on minMemory and is not the schema's")
}

// Each case is one mistake and what the message must say about it.
func TestParseRefuses(t *testing.T) {
	group := func(s string) string { return "nodeGroups:\n- name: a\n  drivers: [nvidia]\n  " + s }
	template := func(s string) string {
		return "claimTemplates:\n- name: a\n  driver: nvidia\n  namespaces: [x]\n  " + s
	}
	plugin := func(s string) string {
		return "customDrivers:\n- name: a\n  driverName: a.b\n  plugin:\n    image: {repository: r, tag: v1}\n    containers: [{name: c}]\n    " + s
	}
	container := func(s string) string {
		return "customDrivers:\n- name: a\n  driverName: a.b\n  plugin:\n    image: {repository: r, tag: v1}\n    containers:\n    - name: c\n      " + s
	}
	cases := map[string]struct{ in, path, says string }{
		"no object":            {"[]", "", "found [], expected an object"},
		"unknown at the root":  {"nodegroups: []", "nodegroups", "unknown key, expected one of: claimTemplates,"},
		"internal":             {"internal: {}", "internal", "unknown key"},
		"unknown in a list":    {group("driver: x"), "nodeGroups[0].driver", "unknown key, expected one of: driverOverrides, drivers,"},
		"unknown in a map":     {"drivers: {nvidia: {driverroot: /}}", "drivers.nvidia.driverroot", "unknown key"},
		"unknown deep":         {group("driverOverrides: {nvidia: {image: {tags: x}}}"), "nodeGroups[0].driverOverrides.nvidia.image.tags", "expected one of: digest, repository, tag"},
		"unknown with dots":    {"deviceClasses: {classes: {gpu.nvidia.com: {make: Never}}}", "deviceClasses.classes.gpu.nvidia.com.make", "unknown key"},
		"missing":              {"nodeGroups: [{name: a}]", "nodeGroups[0].drivers", "missing, expected a list of 1 to 16 items, each different"},
		"bare Off":             {"exporter: {mode: Off}", "exporter.mode", `found false, expected one of: DaemonSet, Sidecar, Off; write "Off" in quotation marks`},
		"false":                {"monitoring: {rules: no}", "monitoring.rules", `found false, expected one of: Auto, Always, Never`},
		"no duration":          {"exporter: {interval: 999999999999999m}", "exporter.interval", `found "999999999999999m", expected a string of at most 16 characters that matches`},
		"next to nothing":      {"exporter: {sidecar: {interval: 1ms}}", "exporter.sidecar.interval", `found "1ms", expected a string of at most 16 characters that matches`},
		"enum":                 {group("partitioning: MIG"), "nodeGroups[0].partitioning", `found "MIG", expected one of: None, Static, Dynamic`},
		"enum under dots":      {"deviceClasses: {classes: {gpu.nvidia.com: {create: no}}}", "deviceClasses.classes.gpu.nvidia.com.create", `expected one of: Auto, Always, Never`},
		"type":                 {group(`expectedDevices: "8"`), "nodeGroups[0].expectedDevices", `found "8", expected an integer from 1 to 1024`},
		"bool":                 {group(`passive: "true"`), "nodeGroups[0].passive", `found "true", expected true or false`},
		"list for object":      {"drivers: [nvidia]", "drivers", `found ["nvidia"], expected an object`},
		"bounds":               {template("count: 0"), "claimTemplates[0].count", "found 0, expected an integer from 1 to 32"},
		"fraction":             {template("count: 1.5"), "claimTemplates[0].count", "found 1.5, expected an integer from 1 to 32"},
		"bare number":          {template("minMemory: 16384"), "claimTemplates[0].minMemory", "found 16384, expected a string that matches"},
		"no unit":              {template(`minMemory: "16384"`), "claimTemplates[0].minMemory", `found "16384", expected a string that matches`},
		"no quantity":          {template("minMemory: 16GB"), "claimTemplates[0].minMemory", `found "16GB", expected a string that matches`},
		"zero memory":          {template("minMemory: 0Gi"), "claimTemplates[0].minMemory", `found "0Gi"`},
		"cpu":                  {"controller: {resources: {requests: {cpu: lots}}}", "controller.resources.requests.cpu", `found "lots", expected an integer or a string that matches`},
		"name":                 {"nodeGroups: [{name: GPU, drivers: [nvidia]}]", "nodeGroups[0].name", `found "GPU", expected a string of 1 to 63 characters that matches`},
		"no driver":            {"nodeGroups: [{name: a, drivers: []}]", "nodeGroups[0].drivers", "found [], expected a list of 1 to 16 items"},
		"driver twice":         {"nodeGroups: [{name: a, drivers: [nvidia, nvidia]}]", "nodeGroups[0].drivers", "each different"},
		"digest":               {"controller: {image: {digest: abc}}", "controller.image.digest", `found "abc"`},
		"group twice":          {"nodeGroups: [{name: a, drivers: [nvidia]}, {name: a, drivers: [amd]}]", "nodeGroups", "two entries have the same name"},
		"template twice":       {"claimTemplates: [{name: a, driver: nvidia, namespaces: [x]}, {name: a, driver: nvidia, namespaces: [z]}]", "claimTemplates", "two entries have the same name"},
		"both namespaces":      {template("namespaceSelector: {}"), "claimTemplates[0]", "exactly one of namespaces and namespaceSelector"},
		"no namespaces":        {"claimTemplates: [{name: b, driver: nvidia, namespaces: [x]}, {name: a, driver: nvidia}]", "claimTemplates[1]", "exactly one of namespaces and namespaceSelector"},
		"smallest of what":     {template("fit: Smallest"), "claimTemplates[0]", "fit Smallest needs minMemory"},
		"interval of MPS":      {template("sharing: {strategy: MPS, interval: Long}"), "claimTemplates[0]", "belongs to the strategy TimeSlicing"},
		"percent of slices":    {template("sharing: {strategy: TimeSlicing, activeThreadPercentage: 5}"), "claimTemplates[0]", "belong to the strategy MPS"},
		"profiling sidecar":    {"exporter: {mode: Sidecar, metrics: Profiling}", "exporter", "profiling metrics need mode DaemonSet"},
		"custom nothing":       {"exporter: {metrics: Custom}", "exporter", "needs customMetrics"},
		"taint of no key":      {group("tolerations: [{operator: Exists}, {value: a}]"), "nodeGroups[0]", "an entry of tolerations without a key needs the operator Exists"},
		"taint of any value":   {group("tolerations: [{key: a, operator: Exists, value: b}]"), "nodeGroups[0]", "with the operator Exists has no value"},
		"taint for a while":    {group("tolerations: [{key: a, effect: NoSchedule, tolerationSeconds: 1}]"), "nodeGroups[0]", "tolerationSeconds needs the effect NoExecute"},
		"taint of a plugin":    {plugin("tolerations: [{key: a, operator: Exists, value: b}]"), "customDrivers[0]", "each entry of plugin.tolerations has a key or the operator Exists"},
		"taint of an exporter": {"customDrivers: [{name: a, driverName: a.b, exporter: {image: {repository: r, tag: v1}, port: 1, tolerations: [{operator: Exists}, {key: a, tolerationSeconds: 1}]}}]", "customDrivers[0]", "each entry of exporter.tolerations"},
		"key of a taint":       {group("tolerations: [{key: a..b/c}]"), "nodeGroups[0].tolerations[0].key", `found "a..b/c", expected a string of at most 317 characters that matches`},
		"tag in a repository":  {"customDrivers: [{name: a, driverName: a.b, plugin: {image: {repository: 'r.example/a:v1', tag: v1}, containers: [{name: c}]}}]", "customDrivers[0].plugin.image.repository", `found "r.example/a:v1"`},
		"hours":                {"exporter: {interval: 99999s}", "exporter.interval", `found "99999s", expected a string of at most 16 characters that matches`},
		"memory in two places": {"customDrivers: [{name: a, driverName: a.b, memory: {capacity: m, attribute: m}}]", "customDrivers[0]", "either a capacity or an attribute"},
		"value and field":      {container("env: [{name: A, value: a, field: spec.nodeName}]"), "customDrivers[0]", "exactly one of value and field"},
		"neither":              {container("env: [{name: A}]"), "customDrivers[0]", "exactly one of value and field"},
		"both privileges":      {container("privileged: why\n      capabilities: [SYS_ADMIN]"), "customDrivers[0]", "privileged or has capabilities, not both"},
		"any verb":             {plugin("rules: [{apiGroups: [''], resources: [pods], verbs: ['*']}]"), "customDrivers[0].plugin.rules[0].verbs[0]", `found "*", expected a string of at most 63 characters`},
		"relative path":        {container("mounts: [{name: a, hostPath: lib}]"), "customDrivers[0].plugin.containers[0].mounts[0].hostPath", `found "lib", expected a string of 1 to 255 characters that matches`},
		"unknown in a plugin":  {container("securityContext: {}"), "customDrivers[0].plugin.containers[0].securityContext", "unknown key"},
		"no image":             {"customDrivers: [{name: a, driverName: a.b, plugin: {containers: [{name: c}]}}]", "customDrivers[0].plugin.image", "missing, expected an object with repository, tag"},
		"key twice":            {"distribution: Auto\ndistribution: Rosa", "", "already set"},
		"key twice in JSON":    {`{"distribution": "Auto", "distribution": "Rosa"}`, "", "duplicate field"},
		"no YAML":              {"{", "", "did not find expected node content"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			_, err := Parse([]byte(c.in))
			require.Error(t, err)
			var invalid *InvalidError
			if !errors.As(err, &invalid) {
				require.Empty(t, c.path)
				require.ErrorContains(t, err, c.says)
				return
			}
			require.Len(t, invalid.Problems, 1, err.Error())
			require.Equal(t, c.path, invalid.Problems[0].Path)
			require.Contains(t, invalid.Problems[0].Message, c.says)
			require.True(t, strings.HasPrefix(err.Error(), "settings: "+c.path), err.Error())
		})
	}
}

func TestParseReportsEveryMistake(t *testing.T) {
	_, err := Parse([]byte("distribution: Debian\nnodeGroups: [{name: a, drivers: [nvidia], partitioning: x, foo: 1}]\nbar: 1"))
	var invalid *InvalidError
	require.ErrorAs(t, err, &invalid)
	paths := make([]string, len(invalid.Problems))
	for i, p := range invalid.Problems {
		paths[i] = p.Path
	}
	require.Equal(t, []string{"bar", "distribution", "nodeGroups[0].foo", "nodeGroups[0].partitioning"}, paths)
}

func TestParametersAreTheDriversBusiness(t *testing.T) {
	s, err := Parse([]byte(`
deviceClasses:
  extra:
  - name: shared.example.com
    selectors: ["true"]
    config:
    - driver: gpu.example.com
      parameters: {kind: Any, nested: {list: [1, null, {a: b}]}, text: "{{ .Values }}"}
`))
	require.NoError(t, err)
	require.JSONEq(t, `{"kind":"Any","nested":{"list":[1,null,{"a":"b"}]},"text":"{{ .Values }}"}`,
		string(s.DeviceClasses.Extra[0].Config[0].Parameters.Raw))
}
