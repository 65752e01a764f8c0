package render

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const goodTemplate = "claimTemplates: [{name: good, driver: nvidia, namespaces: [a]}]\n---\n"

func TestWrongInputIsReportedAndNothingPrinted(t *testing.T) {
	const head = "apiVersion: gpu-dra.deckhouse.io/v1alpha1\nkind: GPUClaimTemplate\nmetadata: {name: x}\nspec: "
	for name, c := range map[string]struct {
		stdin      string
		namespaces []string
		want       []string
	}{
		"empty":           {stdin: "", want: []string{"standard input: holds no document; expected GPUClaimTemplates"}},
		"comments only":   {stdin: "# x\n---\n# y\n", want: []string{"standard input: holds no document"}},
		"no YAML":         {stdin: "a: b: c", want: []string{"standard input, document 1: is no YAML: "}},
		"broken JSON":     {stdin: `{"kind": "GPUClaimTemplate"`, want: []string{"standard input, document 1: is no YAML: "}},
		"broken later on": {stdin: `{"claimTemplates": []} {"a"`, want: []string{"standard input, document 2: unexpected EOF"}},
		"key twice":       {stdin: "claimTemplates: []\nclaimTemplates: []", want: []string{`document 1: is no YAML: yaml: unmarshal errors: line 2: key "claimTemplates" already set`}},
		"a list":          {stdin: "- a", want: []string{"standard input, document 1: is no object"}},
		"wrong kind":      {stdin: "kind: Pod", want: []string{`document 1: kind: found "Pod", expected GPUClaimTemplate`}},
		"no kind":         {stdin: "a: 1", want: []string{"document 1: found neither kind: GPUClaimTemplate nor any key of the settings"}},
		"wrong version":   {stdin: "apiVersion: gpu-dra.deckhouse.io/v1\nkind: GPUClaimTemplate", want: []string{`apiVersion: found "gpu-dra.deckhouse.io/v1", expected gpu-dra.deckhouse.io/v1alpha1`}},
		"unknown fields": {stdin: head + "{driver: nvidia, namespaces: [a], minmemory: 1Gi, sharing: {strategy: MPS, pinned: 1}}", want: []string{
			"document 1: spec.minmemory: unknown field; correct it or remove it", "document 1: spec.sharing.pinned: unknown field"}},
		"wrong types": {stdin: head + "{driver: nvidia, namespaces: a}", want: []string{"document 1: spec.namespaces: found text, expected a list"}},
		"no quantity": {stdin: head + "{driver: nvidia, namespaces: [a], minMemory: 16 GiB, sharing: {strategy: MPS, pinnedMemoryLimit: [1]}}", want: []string{
			`spec.minMemory: found "16 GiB", expected a quantity`, `spec.sharing.pinnedMemoryLimit: found "[1]", expected a quantity`}},
		"quantity without unit": {stdin: head + "{driver: nvidia, namespaces: [a], minMemory: 16384}", want: []string{"spec.minMemory: is 16384, which is less than 1Mi"}},
		"no name":               {stdin: "apiVersion: gpu-dra.deckhouse.io/v1alpha1\nkind: GPUClaimTemplate\nspec: {driver: nvidia, namespaces: [a]}", want: []string{`metadata.name: found ""`}},
		"nowhere":               {stdin: head + "{driver: nvidia}", want: []string{"document 1: spec: exactly one of namespaces and namespaceSelector is needed"}},
		"selector":              {stdin: head + "{driver: nvidia, namespaceSelector: {}}", want: []string{`spec.namespaceSelector: "x" selects namespaces by label, which takes a cluster; name them with -n`}},
		"bad namespace":         {stdin: head + "{driver: nvidia, namespaceSelector: {}}", namespaces: []string{"A b"}, want: []string{`--namespace: found "A b"`}},
		"every entry of settings": {stdin: `
claimTemplates:
- {name: good, driver: nvidia, namespaces: [a]}
- {name: bad, driver: nvidea, namespaces: [a]}
- {name: bad2, driver: nvidia, namespaces: [a], device: Hole, count: -1}
- {name: bad3, driver: 1}
- {name: bad4, drivr: nvidia}
- {name: bad5, driver: nvidia, namespaces: [a], selectors: [devce == 1]}
- {name: good, driver: nvidia, namespaces: [b]}
- bad6
`, want: []string{
			"claimTemplates[3].driver: found a number, expected text",
			"claimTemplates[4].drivr: unknown field",
			`claimTemplates[6].name: "good" is taken by the template in standard input, document 1`,
			"claimTemplates[7]: found text, expected an object",
			`claimTemplates[1].driver: no driver profile is called "nvidea"`,
			`claimTemplates[2].device: is "Hole"; expected one of`,
			"claimTemplates[2].count: is -1",
			`claimTemplates[2].device: driver "nvidia" has no DeviceClass for Hole`,
			"claimTemplates[5].selectors[0]: line 1, column 1: undeclared reference to 'devce'",
		}},
		"a driver that is wrong, reported once": {stdin: "customDrivers: [{name: npu, driverName: A_b}]\nclaimTemplates: [{name: x, driver: npu, namespaces: [a]}]", want: []string{
			`customDrivers[0]: driver profile "npu": driverName: found "A_b"`}},
		"a driver that cannot be read, reported once": {stdin: "customDrivers: [{name: npu, driverName: no}]\nclaimTemplates: [{name: x, driver: npu, namespaces: [a]}]", want: []string{
			`customDrivers[0].driverName: found true or false, expected text; put it in quotes`}},
		"a driver twice": {stdin: "customDrivers: [{name: other, driverName: gpu.nvidia.com}]", want: []string{
			`customDrivers[0].driverName: profiles "nvidia" and "other" both describe the DRA driver "gpu.nvidia.com"`}},
		"every key of settings": {stdin: `
distribution: Vanilla
imageRegistry: {}
nodeGroups:
- {name: a, drivers: [nvidia, nobody], nodeSelector: {a: b}}
- {name: b, drivers: [nvidia]}
drivers: {nvidea: {logLevel: 3}}
deviceClasses:
  extra: [{name: own, selectors: [true, devce.driver == "x"]}]
  classes: {absent: {create: Never}}
exporter: {mode: Of}
claimTemplates: [{name: x, driver: nvidia, namespaces: [a], device: Hole}]
`, want: []string{
			`document 1: claimTemplates[0].device: is "Hole"`,
			`document 1: claimTemplates[0].device: driver "nvidia" has no DeviceClass for Hole`,
			`document 1: deviceClasses.extra[0].selectors[0]: found true, expected a string`,
			`document 1: exporter.mode: found "Of", expected one of: DaemonSet, Sidecar, Off`,
			`document 1: imageRegistry: found {}, expected a string`,
			`document 1: nodeGroups[0].drivers[1]: found "nobody", expected one of: `,
			`document 1: nodeGroups[1].nodeSelector: found none`,
			`document 1: drivers.nvidea: found "nvidea", expected one of: `,
		}},
		"what the schema takes": {stdin: `
nodeGroups: [{name: a, drivers: [nobody, npu]}, {name: b, drivers: [nvidia], driverOverrides: {example: {logLevel: 1}}}]
deviceClasses:
  extra: [{name: own, selectors: ["true", devce.driver == "x"]}, {name: gpu.nvidia.com, selectors: ["true"]}]
  classes: {absent: {create: Never}}
customDrivers: [{name: npu, driverName: A_b}]
`, want: []string{
			`document 1: customDrivers[0]: driver profile "npu": driverName: found "A_b"`,
			`document 1: nodeGroups[0].drivers[0]: found "nobody", expected one of: `,
			`document 1: nodeGroups[1].driverOverrides.example: the group does not run this driver`,
			`document 1: deviceClasses.extra[0].selectors[1]: line 1, column 1: undeclared reference to 'devce'`,
			`document 1: deviceClasses.extra[1].name: found "gpu.nvidia.com", which is a class of a driver profile`,
			`document 1: deviceClasses.classes.absent: no driver profile and no entry of deviceClasses.extra has a class of this name`,
		}},
		"what a rule of the schema refuses, beside a profile": {stdin: "nodeGroups: [{name: a, drivers: [nvidia]}, {name: a, drivers: [nvidia]}]\ncustomDrivers: [{name: npu, driverName: A_b}]\ndrivers: {npux: {}}", want: []string{
			`document 1: customDrivers[0]: driver profile "npu"`, "document 1: nodeGroups", `document 1: drivers.npux: found "npux"`}},
		"an unknown key":               {stdin: "nodeGroups: []\nnodegroups: []", want: []string{"document 1: nodegroups: "}},
		"Helm's key in a ModuleConfig": {stdin: "kind: ModuleConfig\nspec: {settings: {nodeGroups: [], global: {}}}", want: []string{"document 1: spec.settings.global: "}},
		"nothing is said of a distribution that is none": {stdin: "distribution: vanilla\nnodeGroups: [{name: a, drivers: [nvidia]}]", want: []string{
			`document 1: distribution: found "vanilla", expected one of: Auto, Deckhouse, Rosa, Vanilla`}},
		"settings of the wrong shape": {stdin: "claimTemplates: {a: 1}\ncustomDrivers: [1]", want: []string{
			"customDrivers[0]: found a number, expected an object", "claimTemplates: found an object, expected a list"}},
		"a ModuleConfig": {stdin: "kind: ModuleConfig\nspec: {settings: {claimTemplates: [{name: x, driver: nvidia}]}}", want: []string{
			"document 1: spec.settings.claimTemplates[0]: exactly one of namespaces and namespaceSelector is needed"}},
		"an item of a list": {stdin: "kind: List\nitems: [{kind: Pod}]", want: []string{`document 1, items[0]: kind: found "Pod"`}},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			err := Render([]string{"-"}, strings.NewReader(c.stdin), c.namespaces, &out)
			require.Error(t, err)
			assert.Empty(t, out.String())
			lines := strings.Split(err.Error(), "\n")
			require.Len(t, lines, len(c.want), err.Error())
			for i, want := range c.want {
				assert.Contains(t, lines[i], want)
			}
		})
	}
}

func TestOneWrongDocumentHidesNoOther(t *testing.T) {
	var out bytes.Buffer
	err := Render([]string{"missing.yaml", "-"}, strings.NewReader(goodTemplate+"kind: Pod\n---\na: b: c\n---\nclaimTemplates: [{name: x, driver: npu, namespaces: [a]}]"), nil, &out)
	require.Error(t, err)
	assert.Empty(t, out.String(), "not even the good one is printed")
	assert.Equal(t, []string{
		"open missing.yaml: no such file or directory",
		`standard input, document 2: kind: found "Pod", expected GPUClaimTemplate, or settings`,
		"standard input, document 3: is no YAML: yaml: mapping values are not allowed in this context",
		`standard input, document 4: claimTemplates[0].driver: no driver profile is called "npu"; known: amd, ascend, example, hygon, intel-gaudi, intel-gpu, nvidia, rebellions; correct the name or describe the driver in customDrivers`,
	}, strings.Split(err.Error(), "\n"))
}
