package hooktest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/openapi"
)

// RequireInternal checks `gpuDra.internal` of values against openapi/values.yaml. It refuses what addon-operator would refuse;
// a hook that is refused is repeated for ever.
func RequireInternal(t testing.TB, values []byte) {
	t.Helper()
	var schema struct {
		Properties struct {
			Internal map[string]any `json:"internal"`
		} `json:"properties"`
	}
	require.NoError(t, yaml.Unmarshal(openapi.Values, &schema))
	require.NotEmpty(t, schema.Properties.Internal)
	asJSON, err := json.Marshal(schema.Properties.Internal)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(asJSON))
	require.NoError(t, err)
	compiler := jsonschema.NewCompiler()
	require.NoError(t, compiler.AddResource("internal.json", document))
	compiled, err := compiler.Compile("internal.json")
	require.NoError(t, err)

	var parsed struct {
		GPUDRA struct {
			Internal json.RawMessage `json:"internal"`
		} `json:"gpuDra"`
	}
	require.NoError(t, json.Unmarshal(values, &parsed))
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(parsed.GPUDRA.Internal))
	require.NoError(t, err)
	require.NoError(t, compiled.Validate(instance), string(parsed.GPUDRA.Internal))
}

// RequireCRD checks an object against the module's own CRD of its kind.
func RequireCRD(t testing.TB, root string, object *unstructured.Unstructured) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "crds", strings.ToLower(object.GetKind())+"s.yaml"))
	require.NoError(t, err)
	var crd apiextensionsv1.CustomResourceDefinition
	require.NoError(t, yaml.Unmarshal(data, &crd))
	var internal apiextensions.JSONSchemaProps
	require.NoError(t, apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(
		crd.Spec.Versions[0].Schema.OpenAPIV3Schema, &internal, nil))
	validator, _, err := validation.NewSchemaValidator(&internal)
	require.NoError(t, err)
	require.Empty(t, validation.ValidateCustomResource(nil, object.Object, validator), "%v", object.Object)
}
