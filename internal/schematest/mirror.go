// Package schematest compares Go types with schemas in tests.
package schematest

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// leaves are types that a schema describes by a string, a number or a free object.
var leaves = map[reflect.Type]bool{
	reflect.TypeFor[resource.Quantity]():    true,
	reflect.TypeFor[metav1.Duration]():      true,
	reflect.TypeFor[runtime.RawExtension](): true,
}

// Structural reads an OpenAPI schema from YAML.
func Structural(t *testing.T, data []byte) *structuralschema.Structural {
	t.Helper()
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		t.Fatal(err)
	}
	v1, internal := &apiextensionsv1.JSONSchemaProps{}, &apiextensions.JSONSchemaProps{}
	if err := json.Unmarshal(asJSON, v1); err != nil {
		t.Fatal(err)
	}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, internal, nil); err != nil {
		t.Fatal(err)
	}
	s, err := structuralschema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Mirror reports every key that stands in a Go type or its schema only, and every object of the schema that is open, at every
// depth. path is where the schema stands, for the messages.
func Mirror(t *testing.T, typ reflect.Type, node *structuralschema.Structural, path string) {
	t.Helper()
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch {
	case leaves[typ]:
	case typ.Kind() == reflect.Slice:
		if node.Items == nil {
			t.Errorf("%s: a list in Go only", path)
			return
		}
		Mirror(t, typ.Elem(), node.Items, path+"[]")
	case typ.Kind() == reflect.Map:
		if node.AdditionalProperties != nil && node.AdditionalProperties.Structural != nil {
			Mirror(t, typ.Elem(), node.AdditionalProperties.Structural, path+".*")
		}
		for k, p := range node.Properties {
			Mirror(t, typ.Elem(), &p, path+"."+k)
		}
	case typ.Kind() == reflect.Struct:
		mirrorFields(t, typ, node, path)
	}
}

func mirrorFields(t *testing.T, typ reflect.Type, node *structuralschema.Structural, path string) {
	t.Helper()
	fields := map[string]reflect.Type{}
	collect(typ, fields)
	for name := range fields {
		if _, ok := node.Properties[name]; !ok {
			t.Errorf("%s.%s: in Go and not in the schema", path, name)
		}
	}
	for name, p := range node.Properties {
		if field, ok := fields[name]; ok {
			Mirror(t, field, &p, path+"."+name)
		} else {
			t.Errorf("%s.%s: in the schema and not in Go", path, name)
		}
	}
	if node.AdditionalProperties == nil || node.AdditionalProperties.Bool {
		t.Errorf("%s: the object is open, set additionalProperties: false", path)
	}
}

func collect(typ reflect.Type, into map[string]reflect.Type) {
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			collect(f.Type, into)
			continue
		}
		into[name] = f.Type
	}
}
