package render

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/claim"
)

const examples = "../../../examples/claim-templates"

// renders returns what is printed, and that it is what a strict API server takes.
func renders(t *testing.T, files []string, stdin string, namespaces ...string) (text string, objects []resourcev1.ResourceClaimTemplate) {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, Render(files, strings.NewReader(stdin), namespaces, &out))
	for _, d := range strings.Split(out.String(), "---\n") {
		var o resourcev1.ResourceClaimTemplate
		require.NoError(t, yaml.UnmarshalStrict([]byte(d), &o), d)
		assert.Equal(t, "resource.k8s.io/v1", o.APIVersion)
		assert.Equal(t, "ResourceClaimTemplate", o.Kind)
		require.NoError(t, claim.Check(o.Spec))
		assert.Equal(t, claim.Hash(o.Spec), o.Annotations["gpu-dra.deckhouse.io/spec-hash"], "what is printed means what was built")
		objects = append(objects, o)
	}
	assert.NotContains(t, out.String(), "creationTimestamp")
	assert.NotContains(t, out.String(), "status")
	return out.String(), objects
}

// names lists objects as namespace/name.
func names(objects []resourcev1.ResourceClaimTemplate) []string {
	var out []string
	for _, o := range objects {
		out = append(out, o.Namespace+"/"+o.Name)
	}
	return out
}

func TestArticlesTemplateIsReadable(t *testing.T) {
	text, _ := renders(t, []string{examples + "/gpu-16gb-min.yaml"}, "")
	want, err := os.ReadFile("testdata/gpu-16gb-min.yaml")
	require.NoError(t, err)
	assert.Equal(t, string(want), regexp.MustCompile(`spec-hash: [0-9a-f]{32}`).ReplaceAllString(text, "spec-hash: HASH"))
}

// The examples are what the documentation shows.
func TestExamples(t *testing.T) {
	files, err := filepath.Glob(examples + "/*.yaml")
	require.NoError(t, err)
	want := map[string][]string{
		"gpu-16gb-min.yaml":           {"inference/gpu-16gb-min"},
		"h100-whole.yaml":             {"vm/h100-whole"},
		"mig-partition.yaml":          {"inference/mig-partition", "notebooks/mig-partition"},
		"two-gpus-one-pcie-root.yaml": {"training/two-gpus-one-pcie-root"},
	}
	require.Len(t, files, len(want))
	for _, file := range files {
		var namespaces []string
		if filepath.Base(file) == "h100-whole.yaml" {
			namespaces = []string{"vm"}
		}
		_, objects := renders(t, []string{file}, "", namespaces...)
		assert.Equal(t, want[filepath.Base(file)], names(objects), file)
	}
}

func TestManyDocumentsOfManyFiles(t *testing.T) {
	const crd = `{"apiVersion": "gpu-dra.deckhouse.io/v1alpha1", "kind": "GPUClaimTemplate", "metadata": {"name": "NAME"}, "spec": {"driver": "nvidia", "namespaces": ["b", "a"]}}`
	one, two := strings.Replace(crd, "NAME", "one", 1), strings.Replace(crd, "NAME", "two", 1)
	settings := filepath.Join(t.TempDir(), "values.yaml")
	require.NoError(t, os.WriteFile(settings, []byte(`
nodeGroups: [{name: npu, drivers: [npu]}]
claimTemplates:
- name: npu
  namespaces: [c]
  driver: npu
  minMemory: 32Gi
customDrivers:
- name: npu
  driverName: npu.example.org
  memory: {attribute: memory, unit: Mi}
  classes: [{name: npu.example.org, choice: Any, expression: device.driver == "npu.example.org"}]
`), 0o600))
	for name, c := range map[string]struct {
		files []string
		stdin string
		want  []string
	}{
		"YAML":            {[]string{"-"}, "# first\n---\n" + one + "\n---\n# nothing\n---\n" + two, []string{"a/one", "b/one", "a/two", "b/two"}},
		"JSON":            {[]string{"-"}, one + "\n" + two, []string{"a/one", "b/one", "a/two", "b/two"}},
		"flow style YAML": {[]string{"-"}, "{claimTemplates: [{name: x, driver: nvidia, namespaces: [a]}]}\n---\n" + two, []string{"a/x", "a/two", "b/two"}},
		"a list of kubectl": {[]string{"-"}, `{apiVersion: v1, kind: List, items: [` + two + `, ` + one + `]}`,
			[]string{"a/two", "b/two", "a/one", "b/one"}},
		"settings":                      {[]string{settings}, "", []string{"c/npu"}},
		"settings and more":             {[]string{settings, "-"}, one, []string{"c/npu", "a/one", "b/one"}},
		"its driver is in a later file": {[]string{"-", settings}, strings.Replace(one, "nvidia", "npu", 1), []string{"a/one", "b/one", "c/npu"}},
		"a ModuleConfig": {[]string{"-"}, "apiVersion: deckhouse.io/v1alpha1\nkind: ModuleConfig\nmetadata: {name: gpu-dra}\nspec: {version: 1, settings: {claimTemplates: [{name: x, driver: nvidia, namespaces: [a]}]}}",
			[]string{"a/x"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, objects := renders(t, c.files, c.stdin)
			assert.Equal(t, c.want, names(objects))
			again, _ := renders(t, c.files, c.stdin)
			assert.Equal(t, text, again)
		})
	}
}

func TestNamespacesOfTheCommandLine(t *testing.T) {
	const selected = "claimTemplates: [{name: x, driver: nvidia, namespaceSelector: {matchLabels: {team: llm}}}]"
	_, objects := renders(t, []string{"-"}, selected, "b", "a", "b")
	assert.Equal(t, []string{"a/x", "b/x"}, names(objects))
	_, objects = renders(t, []string{"-"}, "claimTemplates: [{name: x, driver: nvidia, namespaces: [c]}]", "a")
	assert.Equal(t, []string{"a/x"}, names(objects), "in place of its own")
}

func TestNoTemplatesIsNoError(t *testing.T) {
	for _, stdin := range []string{"claimTemplates: []", "nodeGroups: []\nglobal: {modules: {}}", "kind: ModuleConfig\nspec: {settings: {}}"} {
		var out bytes.Buffer
		require.NoError(t, Render([]string{"-"}, strings.NewReader(stdin), nil, &out), stdin)
		assert.Empty(t, out.String())
	}
}

// The settings that the documentation shows are in order.
func TestExamplesOfSettings(t *testing.T) {
	files, err := filepath.Glob("../../../examples/values/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range append(files, "../../../examples/demo/settings.yaml") {
		var out bytes.Buffer
		require.NoError(t, Render([]string{file}, nil, []string{"default"}, &out), file)
		require.NotEmpty(t, out.String(), file)
	}
}
