package operator

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/flant/addon-operator/pkg/utils"
	"github.com/flant/addon-operator/pkg/values/validation"
)

// storage is the module's schemas as addon-operator reads them.
func storage(t *testing.T) *validation.SchemaStorage {
	t.Helper()
	config, err := os.ReadFile("../../openapi/config-values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	values, err := os.ReadFile("../../openapi/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	s, err := validation.NewSchemaStorage(config, values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// section reads settings and fills defaults in, as addon-operator does before it validates.
func section(t *testing.T, s *validation.SchemaStorage, in string, kind validation.SchemaType) utils.Values {
	t.Helper()
	v := map[string]any{}
	if err := yaml.Unmarshal([]byte(in), &v); err != nil {
		t.Fatal(err)
	}
	validation.ApplyDefaults(v, s.Schemas[validation.ConfigValuesSchema])
	if kind != validation.ConfigValuesSchema {
		validation.ApplyDefaults(v, s.Schemas[validation.ValuesSchema])
	}
	return utils.Values{"gpuDra": v}
}

// What internal/settings accepts is accepted here, by other code with another dialect of the same schema.
func TestSettingsAreAccepted(t *testing.T) {
	s := storage(t)
	full, err := os.ReadFile("../../internal/settings/testdata/full.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"{}", string(full), "nodeGroups: [{name: a, drivers: [nvidia]}]", "controller: {resources: {limits: {cpu: 1, memory: 1Gi}}}"} {
		if err := s.ValidateConfigValues("gpuDra", section(t, s, in, validation.ConfigValuesSchema)); err != nil {
			t.Errorf("%s\n%v", in, err)
		}
		values := section(t, s, in, validation.ValuesSchema)
		if err := s.ValidateValues("gpuDra", values); err != nil {
			t.Errorf("values: %s\n%v", in, err)
		}
		if err := s.ValidateModuleHelmValues("gpuDra", values); err != nil {
			t.Errorf("helm values: %s\n%v", in, err)
		}
	}
}

func TestSettingsAreRefused(t *testing.T) {
	s := storage(t)
	for in, says := range map[string]string{
		"foo: 1":                               "forbidden property",
		"internal: {}":                         "forbidden property",
		"drivers: {nvidia: {image: {foo: 1}}}": "forbidden property",
		"nodeGroups: [{name: a, drivers: [nvidia], driverOverrides: {nvidia: {foo: 1}}}]":                        "forbidden property",
		"nodeGroups: [{name: a, drivers: [nvidia]}, {name: a, drivers: [amd]}]":                                  "two entries have the same name",
		"claimTemplates: [{name: a, driver: nvidia}]":                                                            "exactly one of namespaces and namespaceSelector",
		"claimTemplates: [{name: a, driver: nvidia, namespaces: [b], fit: Smallest}]":                            "fit Smallest needs minMemory",
		"claimTemplates: [{name: a, driver: nvidia, namespaces: [b], sharing: {strategy: MPS, interval: Long}}]": "belongs to the strategy TimeSlicing",
		"exporter: {mode: Sidecar, metrics: Profiling}":                                                          "need mode DaemonSet",
		"exporter: {metrics: Custom}":                                                                            "needs customMetrics",
		"customDrivers: [{name: a, driverName: b.c, memory: {capacity: m, attribute: n}}]":                       "either a capacity or an attribute",
	} {
		err := s.ValidateConfigValues("gpuDra", section(t, s, in, validation.ConfigValuesSchema))
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s\nfound %v, expected %q", in, err, says)
		}
	}
}

// What hooks write is validated after each run: one key that no schema declares, and the hook is retried for ever.
func TestInternalValuesAreAccepted(t *testing.T) {
	s := storage(t)
	data, err := os.ReadFile("../../internal/values/testdata/internal.json")
	if err != nil {
		t.Fatal(err)
	}
	internal := map[string]any{}
	if err := json.Unmarshal(data, &internal); err != nil {
		t.Fatal(err)
	}
	values := section(t, s, "{}", validation.ValuesSchema)
	values["gpuDra"].(map[string]any)["internal"] = internal
	if err := s.ValidateValues("gpuDra", values); err != nil {
		t.Error(err)
	}
	internal["other"] = 1
	if err := s.ValidateValues("gpuDra", values); err == nil {
		t.Error("an undeclared key is accepted")
	}
}
