package charttest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// gated is a driver whose gates have everything that gates can have.
const gated = `
customDrivers:
- name: acme
  driverName: npu.acme.example
  classes:
  - {name: npu.acme.example, choice: Whole, expression: "true"}
  - {name: vm.acme.example, choice: Passthrough, expression: "true"}
  gates:
  - {name: Parts, partitioning: Dynamic, excludes: [Machines]}
  - {name: Machines, passthrough: true}
  - {name: Health, default: true, excludes: [Shares]}
  - {name: Shares, since: 1.2.0}
  - {name: Meta, requires: [Machines]}
  plugin:
    image: {repository: registry.example/acme, tag: v1.1.0}
    kubeletRoot: /var/lib/kubelet
    containers: [{name: plugin, args: ["--gates={featureGates}"]}]
`

// on is a group `g` that runs the driver with more settings.
func on(more string) string {
	return gated + "nodeGroups: [{name: g, drivers: [acme], nodeSelector: {a: b}, " + more + "}]\n"
}

func TestGatesThatTheDriverDoesNotKnow(t *testing.T) {
	const knows = ": the driver acme has no such gate, expected one of: Health, Machines, Meta, Parts, Shares"
	refused(t, map[string][]string{
		on("passive: false") + "drivers: {acme: {featureGates: {Foo: false}}}":                                            {"- drivers.acme.featureGates.Foo" + knows, "name the image that knows it in drivers.acme.image"},
		gated + "drivers: {acme: {featureGates: {Foo: true}}}":                                                            {"- drivers.acme.featureGates.Foo" + knows},
		on("driverOverrides: {acme: {featureGates: {Foo: true}}}"):                                                        {"- nodeGroups[0].driverOverrides.acme.featureGates.Foo" + knows},
		gated + "drivers: {acme: {image: {tag: v1.0.0}, featureGates: {Foo: true}}}":                                      {"- drivers.acme.featureGates.Foo" + knows},
		gated + "drivers: {acme: {image: {tag: v1.1.1}, featureGates: {Foo: true}}}":                                      {},
		gated + "drivers: {acme: {image: {tag: nightly}, featureGates: {Foo: true}}}":                                     {},
		gated + "drivers: {acme: {image: {digest: 'sha256:" + strings.Repeat("0", 64) + "'}, featureGates: {Foo: true}}}": {},
		on("driverOverrides: {acme: {image: {tag: nightly}, featureGates: {Foo: true}}}"):                                 {},
		// What all groups have has to be known to the image of each.
		on("driverOverrides: {acme: {image: {tag: v1.0.0}}}") + "drivers: {acme: {image: {tag: nightly}, featureGates: {Foo: true}}}": {
			"- drivers.acme.featureGates.Foo" + knows, "name the image that knows it in nodeGroups[0].driverOverrides.acme.image"},
		// What the driver gets is one list, which no name may break out of.
		acme + "drivers: {acme: {featureGates: {'A=true,B': true}}}": {
			`- drivers.acme.featureGates: found the key "A=true,B", expected the name of one gate`},
		acme + "nodeGroups: [{name: g, drivers: [acme], nodeSelector: {a: b}, driverOverrides: {acme: {featureGates: {'': true}}}}]": {
			`- nodeGroups[0].driverOverrides.acme.featureGates: found the key ""`},
		// A profile that lists no gate knows none, and every name is passed on.
		acme + "drivers: {acme: {featureGates: {Foo: true}}}": {},
	})
}

// What reaches no plugin would be a setting that does nothing.
func TestSettingsThatThePluginDoesNotTake(t *testing.T) {
	const silent = "customDrivers: [{name: x, driverName: x.example, gates: [{name: A}, {name: B}], plugin: {image: {repository: r.example/x, tag: v1}, " +
		"containers: [{name: x, env: [{name: A, value: a, when: {gate: A}}]}]}}]\n"
	const group = "nodeGroups: [{name: g, drivers: [x], nodeSelector: {a: b}, driverOverrides: {x: "
	const none = ", expected none: the plugin of the driver "
	refused(t, map[string][]string{
		"drivers: {ascend: {featureGates: {HAMivNPUCore: false}}}": {
			"- drivers.ascend.featureGates.HAMivNPUCore: found false" + none + "ascend takes no such gate; remove it"},
		"drivers: {intel-gpu: {image: {tag: nightly}, featureGates: {A: true}}}":                                                   {"- drivers.intel-gpu.featureGates.A: found true" + none},
		"nodeGroups: [{name: g, drivers: [example], nodeSelector: {a: b}, driverOverrides: {example: {featureGates: {A: true}}}}]": {"- nodeGroups[0].driverOverrides.example.featureGates.A: found true" + none + "example"},
		"drivers: {ascend: {featureGates: {}}}":                                                                                    {},
		"drivers: {nvidia: {featureGates: {MPSSupport: true}}}":                                                                    {},
		silent + "drivers: {x: {featureGates: {A: true}}}":                                                                         {},
		silent + "drivers: {x: {featureGates: {B: true}}}":                                                                         {"- drivers.x.featureGates.B: found true" + none + "x"},
		silent + group + "{featureGates: {B: false}}}}]":                                                                           {"- nodeGroups[0].driverOverrides.x.featureGates.B: found false" + none + "x"},
		"drivers: {rebellions: {logLevel: 0}}":                                                                                     {"- drivers.rebellions.logLevel: found 0" + none + "rebellions takes no log level; remove it"},
		silent + group + "{logLevel: 1}}}]":                                                                                        {"- nodeGroups[0].driverOverrides.x.logLevel: found 1" + none + "x takes no log level"},
		"drivers: {hygon: {logLevel: 0}}":                                                                                          {"- drivers.hygon.logLevel: found 0, expected 1 to 5: the plugin of the driver hygon starts with no other"},
		"drivers: {hygon: {logLevel: 6}}":                                                                                          {"- drivers.hygon.logLevel: found 6, expected 1 to 5"},
		"drivers: {hygon: {logLevel: 1}}":                                                                                          {},
		"drivers: {hygon: {logLevel: 5}, nvidia: {logLevel: 10}}":                                                                  {},
		"drivers: {hygon: {driverRoot: /}, rebellions: {driverRoot: /}}":                                                           {},
		"nodeGroups: [{name: g, drivers: [hygon, rebellions], nodeSelector: {a: b}}]\n":                                            {},
		// Installed by other means: what runs there is the user's business.
		acme + "drivers: {acme: {logLevel: 1, featureGates: {Foo: true}}}": {},
	})
}

func TestGatesThatAreYoungerThanTheImage(t *testing.T) {
	const young = "- drivers.acme.featureGates.Shares: the driver acme has the gate Shares since 1.2.0, and its image is of "
	refused(t, map[string][]string{
		gated + "drivers: {acme: {featureGates: {Shares: true}}}":                           {young + "1.1.0; take a newer one in drivers.acme.image"},
		gated + "drivers: {acme: {featureGates: {Shares: false}}}":                          {young + "1.1.0"},
		gated + "drivers: {acme: {image: {tag: 1.1.9-rc.1}, featureGates: {Shares: true}}}": {young + "1.1.9"},
		gated + "drivers: {acme: {image: {tag: v1.2.0}, featureGates: {Shares: true}}}":     {},
		gated + "drivers: {acme: {image: {tag: nightly}, featureGates: {Shares: true}}}":    {},
		on("driverOverrides: {acme: {image: {tag: v1.1.0}}}") + "drivers: {acme: {image: {tag: v1.2.0}, featureGates: {Shares: true, Health: false}}}": {
			young + "1.1.0; take a newer one in nodeGroups[0].driverOverrides.acme.image"},
		strings.ReplaceAll(on("partitioning: Dynamic"), "{name: Parts,", "{name: Parts, since: 2.0.0,"): {
			"- nodeGroups[0].partitioning: Dynamic: the driver acme has the gate Parts since 2.0.0, and its image is of 1.1.0"},
	})
}

// Gates are judged on the merged result of each group.
func TestGatesThatExcludeOrNeedEachOther(t *testing.T) {
	const newer = "drivers: {acme: {image: {tag: v1.2.0}, featureGates: "
	refused(t, map[string][]string{
		on("partitioning: Dynamic, passthrough: true"): {
			`- nodeGroups[0].partitioning: the gates Parts and Machines (on by nodeGroups[0].passthrough) of the driver acme exclude each other, found both on in the group "g"`},
		on("passthrough: true") + "drivers: {acme: {featureGates: {Parts: true}}}": {
			"- drivers.acme.featureGates.Parts: the gates Parts and Machines (on by nodeGroups[0].passthrough)"},
		on("driverOverrides: {acme: {featureGates: {Machines: true}}}") + "drivers: {acme: {featureGates: {Parts: true}}}": {
			"- drivers.acme.featureGates.Parts: the gates Parts and Machines (on by nodeGroups[0].driverOverrides.acme.featureGates.Machines)"},
		on("driverOverrides: {acme: {featureGates: {Parts: false, Machines: true}}}") + "drivers: {acme: {featureGates: {Parts: true}}}": {},
		// A default is on, too; the path is that of the setting, not of the profile.
		on("passive: false") + newer + "{Shares: true}}}": {
			"- drivers.acme.featureGates.Shares: the gates Shares and Health (on by default)"},
		on("passive: false") + newer + "{Shares: true, Health: false}}}": {},
		on("driverOverrides: {acme: {featureGates: {Meta: true}}}"): {
			`- nodeGroups[0].driverOverrides.acme.featureGates.Meta: the gate Meta of the driver acme needs Machines, found it off (by default) in the group "g"`},
		on("driverOverrides: {acme: {featureGates: {Meta: true}}}, passthrough: true"): {},
	})
	// A second group that has what the first lacks helps the second only.
	both := on("passthrough: true") + "- {name: h, drivers: [acme], nodeSelector: {a: c}}\ndrivers: {acme: {featureGates: {Meta: true}}}\n"
	both = strings.Replace(both, "nodeGroups: [{", "nodeGroups:\n- {", 1)
	both = strings.Replace(both, "}]\n-", "}\n-", 1)
	got := refusal(t, Options{Values: parse(t, both)})
	require.Contains(t, got, `- drivers.acme.featureGates.Meta: the gate Meta of the driver acme needs Machines, found it off (by default) in the group "h"`)
	require.NotContains(t, got, `"g"`)
}

func TestGatesAgainstPartitioningAndPassthrough(t *testing.T) {
	refused(t, map[string][]string{
		on("partitioning: Dynamic, driverOverrides: {acme: {featureGates: {Parts: false}}}"): {
			"- nodeGroups[0].partitioning: found Dynamic, which switches the gate Parts of the driver acme on in the group \"g\", and nodeGroups[0].driverOverrides.acme.featureGates.Parts is false"},
		on("passthrough: true") + "drivers: {acme: {featureGates: {Machines: false}}}": {
			"- nodeGroups[0].passthrough: found true, which switches the gate Machines of the driver acme on in the group \"g\", and drivers.acme.featureGates.Machines is false"},
		on("partitioning: Static") + "drivers: {acme: {featureGates: {Parts: true}}}": {
			"- nodeGroups[0].partitioning: found Static in the group \"g\", and drivers.acme.featureGates.Parts is true, which goes with Dynamic",
			"set nodeGroups[0].driverOverrides.acme.featureGates.Parts to false"},
		on("partitioning: Dynamic, driverOverrides: {acme: {featureGates: {Parts: true}}}"): {},
		on("partitioning: None, driverOverrides: {acme: {featureGates: {Parts: true}}}"):    {},
		on("partitioning: Static"): {},
		on("passthrough: true"):    {},
	})
}

func TestKubeletRootThatThePluginCannotUse(t *testing.T) {
	refused(t, map[string][]string{
		on("kubeletRootDir: /data/kubelet"): {
			`- nodeGroups[0].kubeletRootDir: found "/data/kubelet", expected "/var/lib/kubelet": the plugin of the driver acme works with no other`},
		on("kubeletRootDir: /var/lib/kubelet/"): {},
		"nodeGroups: [{name: g, drivers: [example], nodeSelector: {a: b}, kubeletRootDir: /data/kubelet}]": {},
	})
}
