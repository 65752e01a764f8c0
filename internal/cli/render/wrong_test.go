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
		"no kind":         {stdin: "a: 1", want: []string{"document 1: found neither kind: GPUClaimTemplate nor settings"}},
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
			`customDrivers: profiles "nvidia" and "other" both describe the DRA driver "gpu.nvidia.com"`}},
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
		`standard input, document 2: kind: found "Pod", expected GPUClaimTemplate, or settings with claimTemplates`,
		"standard input, document 3: is no YAML: yaml: mapping values are not allowed in this context",
		`standard input, document 4: claimTemplates[0].driver: no driver profile is called "npu"; known: example, nvidia; correct the name or describe the driver in customDrivers`,
	}, strings.Split(err.Error(), "\n"))
}
