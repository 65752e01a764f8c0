package settings

import (
	"context"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"
)

// crd checks objects as the API server does.
type crd struct {
	validator validation.SchemaValidator
	rules     *cel.Validator
	schema    *structuralschema.Structural
}

func claimTemplateCRD(t *testing.T) crd {
	t.Helper()
	c := &apiextensionsv1.CustomResourceDefinition{}
	require.NoError(t, yaml.Unmarshal(readFile(t, "../../crds/gpuclaimtemplates.yaml"), c))
	internal := &apiextensions.JSONSchemaProps{}
	v1 := c.Spec.Versions[0].Schema.OpenAPIV3Schema
	require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, internal, nil))
	schema, err := structuralschema.NewStructural(internal)
	require.NoError(t, err)
	validator, _, err := validation.NewSchemaValidator(internal)
	require.NoError(t, err)
	return crd{validator, cel.NewValidator(schema, true, math.MaxInt64), schema}
}

// check returns what the API server would refuse: what the schema does not know would be pruned in silence, so it counts too.
func (c crd) check(object map[string]any) []string {
	out := pruning.PruneWithOptions(object, c.schema, true, structuralschema.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	defaulting.Default(object, c.schema)
	for _, e := range validation.ValidateCustomResource(nil, object, c.validator) {
		out = append(out, e.Error())
	}
	broken, _ := c.rules.Validate(context.Background(), field.NewPath(""), c.schema, object, nil, math.MaxInt64)
	for _, e := range broken {
		out = append(out, e.Error())
	}
	return out
}

// asObject is what the chart makes of an entry: the name goes to metadata, the rest is the spec.
func asObject(entry map[string]any) map[string]any {
	spec := map[string]any{}
	for k, v := range entry {
		if k != "name" {
			spec[k] = v
		}
	}
	return map[string]any{
		"apiVersion": "gpu-dra.deckhouse.io/v1alpha1",
		"kind":       "GPUClaimTemplate",
		"metadata":   map[string]any{"name": entry["name"]},
		"spec":       spec,
	}
}

// An entry that the settings accept and the CRD refuses would fail a whole release.
func TestTheCRDAcceptsWhatTheSettingsAccept(t *testing.T) {
	c := claimTemplateCRD(t)
	full, err := decode(readFile(t, "testdata/full.yaml"))
	require.NoError(t, err)
	for _, e := range full["claimTemplates"].([]any) {
		require.Empty(t, c.check(asObject(e.(map[string]any))))
	}
	accepted, refused := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		entry := drawEntry(t)
		data, err := json.Marshal(map[string]any{"claimTemplates": []any{entry}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Parse(data); err != nil {
			refused++
			return
		}
		accepted++
		again, err := decode(data)
		if err != nil {
			t.Fatal(err)
		}
		object := asObject(again["claimTemplates"].([]any)[0].(map[string]any))
		if faults := c.check(object); len(faults) > 0 {
			t.Fatalf("%s\naccepted by the settings, refused by the CRD: %v", data, faults)
		}
	})
	require.NotZero(t, accepted, "the generator makes only bad entries")
	require.NotZero(t, refused, "the generator makes only good entries")
}

// drawEntry draws entries at the edges of the schema, good and bad.
func drawEntry(t *rapid.T) map[string]any {
	entry := map[string]any{}
	maybe := func(key string, g *rapid.Generator[any]) {
		if rapid.Bool().Draw(t, key+"?") {
			entry[key] = g.Draw(t, key)
		}
	}
	oneOf := func(values ...any) *rapid.Generator[any] { return rapid.SampledFrom(values) }
	long := func(n int) string { return strings.Repeat("a", n) }
	entry["name"] = oneOf("gpu-16gb-min", long(63), "a", "0").Draw(t, "name")
	entry["driver"] = oneOf("nvidia", long(63), "7").Draw(t, "driver")
	if rapid.Bool().Draw(t, "selector") {
		entry["namespaceSelector"] = oneOf(map[string]any{},
			map[string]any{"matchLabels": map[string]any{"a/b": "", "c": "d"}},
			map[string]any{"matchExpressions": []any{map[string]any{"key": "k", "operator": "Exists"}}},
			map[string]any{"matchExpressions": []any{map[string]any{"key": "k", "operator": "NotIn", "values": []any{"", "x"}}}},
		).Draw(t, "namespaceSelector")
	}
	if entry["namespaceSelector"] == nil || rapid.IntRange(0, 9).Draw(t, "both") == 0 {
		entry["namespaces"] = oneOf([]any{"inference"}, []any{long(63), "a"}, []any{"a", "a"}, []any{}).Draw(t, "namespaces")
	}
	maybe("device", oneOf("Any", "Whole", "Partition", "Passthrough", "Half"))
	maybe("count", oneOf(1, 32, 33, 0))
	maybe("minMemory", oneOf("16Gi", "0.5Gi", "1.5T", "100k", "80000000000000M", "9P", "0.0001Ki", "16", "1e3"))
	maybe("fit", oneOf("Smallest", "First"))
	maybe("product", oneOf("", "NVIDIA A100*", long(64), "\"'{{ \n"))
	maybe("selectors", oneOf([]any{}, []any{"true"}, []any{"a", "a"}, []any{long(10240)}, []any{""}))
	maybe("sameAttribute", oneOf("PCIeRoot", "NUMANode"))
	maybe("sharing", oneOf(
		map[string]any{"strategy": "MPS"}, map[string]any{"strategy": "TimeSlicing", "interval": "Long"},
		map[string]any{"strategy": "MPS", "activeThreadPercentage": 100, "pinnedMemoryLimit": "1Gi"},
		map[string]any{"strategy": "MPS", "interval": "Long"}, map[string]any{"strategy": "TimeSlicing", "pinnedMemoryLimit": "1Gi"},
		map[string]any{"interval": "Long"},
	))
	return entry
}
