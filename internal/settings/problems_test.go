package settings

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func readFile(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	require.NoError(t, err)
	return data
}

func parse(t *testing.T, in string) *Settings {
	t.Helper()
	s, err := Parse([]byte(in))
	require.NoError(t, err)
	return s
}

func lines(problems []Problem) []string {
	var out []string
	for _, p := range problems {
		out = append(out, p.String())
	}
	return out
}

func TestFullExampleHasNoProblems(t *testing.T) {
	s := parse(t, string(readFile(t, "testdata/full.yaml")))
	set, problems := Profiles(s)
	require.Empty(t, problems)
	require.Empty(t, Problems(s, set, profile.Distribution{Name: "Rosa"}))
}

func TestProblems(t *testing.T) {
	vanilla, deckhouse := profile.Distribution{Name: "Vanilla"}, profile.Distribution{Name: "Deckhouse", NodeGroupLabel: "node.deckhouse.io/group"}
	cases := map[string]struct {
		in   string
		d    profile.Distribution
		want []string
	}{
		"nothing": {"{}", vanilla, nil},
		"unknown driver": {"nodeGroups: [{name: a, drivers: [nvidia]}, {name: b, drivers: [nvdia]}]", deckhouse, []string{
			`nodeGroups[1].drivers[0]: found "nvdia", expected one of: example, nvidia, or a profile of your own in customDrivers`}},
		"no selector": {"nodeGroups: [{name: a, drivers: [nvidia]}]", vanilla, []string{
			"nodeGroups[0].nodeSelector: found none, expected labels of the group's nodes: the distribution Vanilla does not label nodes with the name of their group"}},
		"override of a driver that is not there": {"nodeGroups: [{name: a, drivers: [nvidia], driverOverrides: {example: {logLevel: 1}}}]", deckhouse, []string{
			"nodeGroups[0].driverOverrides.example: the group does not run this driver; add it to nodeGroups[0].drivers or remove the override"}},
		"settings of an unknown driver": {"drivers: {nvdia: {logLevel: 1}}", vanilla, []string{
			`drivers.nvdia: found "nvdia", expected one of: example, nvidia, or a profile of your own in customDrivers`}},
		"gate that no plugin takes": {"drivers: {example: {featureGates: {A: true}}, nvidia: {featureGates: {A: true}}}", vanilla, []string{
			"drivers.example.featureGates.A: found true, expected none: the plugin of the driver example takes no such gate; remove it"}},
		"so on a group": {"nodeGroups: [{name: a, drivers: [example], driverOverrides: {example: {featureGates: {A: false}, logLevel: 10}}}]", deckhouse, []string{
			"nodeGroups[0].driverOverrides.example.featureGates.A: found false, expected none: the plugin of the driver example takes no such gate; remove it"}},
		"unknown class": {"deviceClasses: {classes: {gpu.nvidia: {create: Never}}}", vanilla, []string{
			"deviceClasses.classes.gpu.nvidia: no driver profile and no entry of deviceClasses.extra has a class of this name"}},
		"class taken": {"deviceClasses: {extra: [{name: gpu.nvidia.com, selectors: ['true'], driver: x}], classes: {gpu.nvidia.com: {}}}", vanilla, []string{
			`deviceClasses.extra[0].name: found "gpu.nvidia.com", which is a class of a driver profile; choose another name`,
			`deviceClasses.extra[0].driver: found "x", expected one of: example, nvidia, or a profile of your own in customDrivers`}},
	}
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	var known []profile.Driver
	for _, d := range builtin {
		if d.Name == "example" || d.Name == "nvidia" {
			known = append(known, d)
		}
	}
	set, err := profile.NewSet(known...)
	require.NoError(t, err)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, lines(Problems(parse(t, c.in), set, c.d)))
		})
	}
}

// A level of the log goes to the plugins that take one, as far as they do; a profile that is refused is judged by nobody.
func TestLogLevelsOfPlugins(t *testing.T) {
	const plugin = "customDrivers: [{name: x, driverName: x.example, plugin: {image: {repository: r, tag: v1}, containers: [{name: x"
	for in, want := range map[string][]string{
		"drivers: {hygon: {logLevel: 0}}": {"drivers.hygon.logLevel: found 0, expected 1 to 5: the plugin of the driver hygon starts with no other"},
		"drivers: {hygon: {logLevel: 6}}": {"drivers.hygon.logLevel: found 6, expected 1 to 5: the plugin of the driver hygon starts with no other"},
		"drivers: {hygon: {logLevel: 1}}": nil,
		"drivers: {hygon: {logLevel: 5}}": nil,
		"drivers: {hygon: {}}":            nil,
		"drivers: {rebellions: {logLevel: 4}}": {
			"drivers.rebellions.logLevel: found 4, expected none: the plugin of the driver rebellions takes no log level; remove it"},
		plugin + ", args: ['-v={logLevel}']}]}}]\ndrivers: {x: {logLevel: 10}}":                                              nil,
		plugin + "}]}}]\ndrivers: {x: {logLevel: 10}}":                                                                       {"drivers.x.logLevel: found 10, expected none: the plugin of the driver x takes no log level; remove it"},
		"customDrivers: [{name: x, driverName: x.example}]\ndrivers: {x: {logLevel: 10, featureGates: {A: true}}}":           nil,
		"customDrivers: [{name: hygon, driverName: a.b, memory: {unit: Mi}}]\ndrivers: {hygon: {logLevel: 10}}":              nil,
		"customDrivers: [{name: ascend, driverName: a.b, memory: {unit: Mi}}]\ndrivers: {ascend: {featureGates: {A: true}}}": nil,
	} {
		s := parse(t, in)
		set, _ := Profiles(s)
		require.Equal(t, want, lines(Problems(s, set, profile.Distribution{Name: "Vanilla"})), in)
	}
}

func TestKubeletRootOfPlugins(t *testing.T) {
	s := parse(t, "nodeGroups: [{name: a, drivers: [intel-gpu, nvidia], nodeSelector: {a: b}, kubeletRootDir: /data/kubelet}]")
	set, _ := Profiles(s)
	problems := func() []string { return lines(Problems(s, set, profile.Distribution{Name: "Vanilla"})) }
	require.Equal(t, []string{`nodeGroups[0].kubeletRootDir: found "/data/kubelet", expected "/var/lib/kubelet": the plugin of the driver intel-gpu works with no other; ` +
		"move the kubelets, or take the driver off nodeGroups[0].drivers"}, problems())
	s.NodeGroups[0].KubeletRootDir = "/var/lib/kubelet/"
	require.Empty(t, problems())
}

func TestTwoProfilesWithOneClass(t *testing.T) {
	s := parse(t, `customDrivers: [{name: acme, driverName: npu.acme.example, classes: [{name: gpu.example.com, expression: "true"}]}]`)
	set, problems := Profiles(s)
	require.Empty(t, problems)
	require.Equal(t, []string{`customDrivers: profiles "acme" and "example" both have a class "gpu.example.com"; rename one`},
		lines(Problems(s, set, profile.Distribution{Name: "Vanilla"})))
}

// Parse refuses two groups of one name; settings built by other means may still have them.
func TestProblemsOfSettingsThatWereNotParsed(t *testing.T) {
	set, _ := Profiles(&Settings{})
	selector := map[string]string{"a b": "x"}
	s := &Settings{NodeGroups: []NodeGroup{{Name: "a", NodeSelector: selector}, {Name: "a", NodeSelector: map[string]string{"x": "y"}}}}
	got := lines(Problems(s, set, profile.Distribution{Name: "Vanilla"}))
	require.Len(t, got, 2)
	require.Contains(t, got[0], "nodeGroups[0].nodeSelector.a b: no label has such a key")
	require.Equal(t, `nodeGroups[1].name: found "a", which nodeGroups[0] has already; merge the two`, got[1])
}

func TestLabelsOfMonitoringObjects(t *testing.T) {
	set, _ := Profiles(&Settings{})
	problems := func(key string) []string {
		return lines(Problems(&Settings{Monitoring: Monitoring{Labels: map[string]string{key: "x"}}}, set, profile.Distribution{Name: "Vanilla"}))
	}
	require.Empty(t, problems("release"))
	got := problems("re lease")
	require.Len(t, got, 1)
	require.Contains(t, got[0], "monitoring.labels.re lease: no label has such a key")
}

func TestABadCustomProfileLosesNothingElse(t *testing.T) {
	s := parse(t, `
customDrivers:
- {name: good, driverName: npu.good.example}
- {name: nvidia, driverName: gpu.nvidia.com, types: {gpu: Whole}}
- {name: thief, driverName: gpu.nvidia.com}
- {name: example, driverName: gpu.example.com, productAttribute: sku}
- {name: odd, driverName: npu.odd.example, kubernetesGates: [{gate: DRADeviceTaints}], managers: [{name: m}]}
`)
	set, problems := Profiles(s)
	require.Len(t, problems, 3)
	require.Equal(t, "customDrivers[1].typeAttribute", problems[0].Path)
	require.Equal(t, Problem{"customDrivers[2].driverName", `profiles "nvidia" and "thief" both describe the DRA driver "gpu.nvidia.com": keep one`}, problems[1])
	require.Equal(t, "customDrivers[4].managers[0]", problems[2].Path)
	require.Contains(t, problems[2].Message, "exactly one of nodeLabel, api, namespace, nodeGroupField")
	_, ok := set.ByName("good")
	require.True(t, ok)
	nvidia, ok := set.ByName("nvidia")
	require.True(t, ok, "the built-in profile stays where the one to replace it is bad")
	require.NotEmpty(t, nvidia.Classes)
	example, ok := set.ByName("example")
	require.True(t, ok)
	require.Equal(t, "sku", example.ProductAttribute, "a profile of the same name replaces the built-in one")
	_, ok = set.ByName("thief")
	require.False(t, ok)
}
