package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/settings"
)

const root = "../../.."

func TestTreeIsAsGenerated(t *testing.T) {
	require.NoError(t, run(root, true))
}

func TestCheckNamesWhatDiffers(t *testing.T) {
	files, err := generate(root)
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, files.Emit(dir, false))
	require.NoError(t, files.Emit(dir, true))
	require.NoError(t, os.WriteFile(dir+"/values.yaml", []byte("distribution: Rosa\n"), 0o600))
	require.ErrorContains(t, files.Emit(dir, true), "[values.yaml]")
}

func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := os.ReadFile(root + "/values.schema.json")
	require.NoError(t, err)
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	require.NoError(t, err)
	c := jsonschema.NewCompiler()
	require.NoError(t, c.AddResource("values.schema.json", doc))
	s, err := c.Compile("values.schema.json")
	require.NoError(t, err)
	return s
}

func instance(t *testing.T, data []byte) any {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON(data)
	require.NoError(t, err)
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	require.NoError(t, err)
	return v
}

func TestSchemaAcceptsDefaultsAndTheFullExample(t *testing.T) {
	s := schema(t)
	for _, name := range []string{"/values.yaml", "/internal/settings/testdata/full.yaml"} {
		data, err := os.ReadFile(root + name)
		require.NoError(t, err)
		require.NoError(t, s.Validate(instance(t, data)), name)
	}
	require.NoError(t, s.Validate(instance(t, []byte("global: {a: b}\ngpuDra: {internal: {cluster: {}}}"))), "addon-operator's own values")
}

// What Helm refuses, settings.Parse refuses too, and the other way round, but for the rules that JSON schema cannot say.
func TestSchemaRefusesWhatParseRefuses(t *testing.T) {
	s := schema(t)
	for _, in := range []string{
		"foo: 1",
		"internal: {}",
		"distribution: Debian",
		"nodeGroups: [{name: a}]",
		"nodeGroups: [{name: a, drivers: [nvidia], foo: 1}]",
		"drivers: {nvidia: {foo: 1}}",
		"drivers: {nvidia: {image: {foo: 1}}}",
		"claimTemplates: [{name: a, driver: nvidia}]",
		"claimTemplates: [{name: a, driver: nvidia, namespaces: [x], namespaceSelector: {}}]",
		"claimTemplates: [{name: a, driver: nvidia, namespaces: [x], fit: Smallest}]",
		"claimTemplates: [{name: a, driver: nvidia, namespaces: [x], minMemory: 16}]",
		"claimTemplates: [{name: a, driver: nvidia, namespaces: [x], sharing: {strategy: MPS, interval: Long}}]",
		"claimTemplates: [{name: a, driver: nvidia, namespaces: [x], sharing: {strategy: TimeSlicing, pinnedMemoryLimit: 1Gi}}]",
		"customDrivers: [{name: a, driverName: a.example, memory: {capacity: m, attribute: n}}]",
		"exporter: {mode: Sidecar, metrics: Profiling}",
		"exporter: {metrics: Custom}",
		"exporter: {metrics: Custom, customMetrics: []}",
		"controller: {resources: {limits: {memory: lots}}}",
	} {
		require.Error(t, s.Validate(instance(t, []byte(in))), in)
		_, err := settings.Parse([]byte(in))
		require.Error(t, err, in)
	}
}

func TestDefaultsForTemplatesAreTheSchemas(t *testing.T) {
	data, err := os.ReadFile(root + "/values.yaml")
	require.NoError(t, err)
	fromFile, err := settings.Parse(data)
	require.NoError(t, err)
	fromSchema, err := settings.Parse(nil)
	require.NoError(t, err)
	a, err := json.Marshal(fromFile)
	require.NoError(t, err)
	b, err := json.Marshal(fromSchema)
	require.NoError(t, err)
	require.JSONEq(t, string(b), string(a))
}
