package settings

import (
	"encoding/json"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/openapi"
)

// schema is openapi/config-values.yaml in the forms that the validator, the defaulting and the rules want.
type schema struct {
	structural *structuralschema.Structural
	// leaves is the schema without anyOf, oneOf, allOf and not: its errors name one value each. What those say is said better
	// by the rules; full is asked only when neither found anything.
	leaves, full validation.SchemaValidator
	rules        *ruleNode
}

var (
	loadStructural = sync.OnceValues(func() (*structuralschema.Structural, error) {
		asJSON, err := readSchema(openapi.ConfigValues)
		if err != nil {
			return nil, err
		}
		structural, _, err := newStructural(asJSON)
		return structural, named(err)
	})
	loadSchema = sync.OnceValues(func() (*schema, error) {
		asJSON, err := readSchema(openapi.ConfigValues)
		if err != nil {
			return nil, err
		}
		s, err := newSchema(asJSON)
		return s, named(err)
	})
)

func readSchema(data []byte) ([]byte, error) {
	asJSON, err := yaml.YAMLToJSONStrict(data)
	return asJSON, named(err)
}

func named(err error) error {
	if err != nil {
		return fmt.Errorf("openapi/config-values.yaml: %w", err)
	}
	return nil
}

func newStructural(asJSON []byte) (*structuralschema.Structural, *apiextensions.JSONSchemaProps, error) {
	v1 := &apiextensionsv1.JSONSchemaProps{}
	if err := json.Unmarshal(asJSON, v1); err != nil {
		return nil, nil, err
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(v1, internal, nil); err != nil {
		return nil, nil, err
	}
	structural, err := structuralschema.NewStructural(internal)
	return structural, internal, err
}

func newSchema(asJSON []byte) (*schema, error) {
	structural, internal, err := newStructural(asJSON)
	if err != nil {
		return nil, err
	}
	full, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	withoutLogic(internal)
	leaves, _, err := validation.NewSchemaValidator(internal)
	if err != nil {
		return nil, err
	}
	rules := &ruleNode{}
	if err := json.Unmarshal(asJSON, rules); err != nil {
		return nil, err
	}
	if err := rules.compile(""); err != nil {
		return nil, err
	}
	return &schema{structural: structural, leaves: leaves, full: full, rules: rules}, nil
}

// withoutLogic takes anyOf, oneOf, allOf and not out of a schema, in place. An integer-or-string needs no anyOf to be one.
func withoutLogic(s *apiextensions.JSONSchemaProps) {
	s.AllOf, s.AnyOf, s.OneOf, s.Not = nil, nil, nil, nil
	for k, p := range s.Properties {
		withoutLogic(&p)
		s.Properties[k] = p
	}
	if s.Items != nil && s.Items.Schema != nil {
		withoutLogic(s.Items.Schema)
	}
	if s.AdditionalProperties != nil && s.AdditionalProperties.Schema != nil {
		withoutLogic(s.AdditionalProperties.Schema)
	}
}

// validate reports what the schema and its rules refuse in an object with defaults filled in.
func (s *schema) validate(object map[string]any) []Problem {
	var problems, pathless []Problem
	for _, e := range validation.ValidateCustomResource(nil, object, s.leaves) {
		// Unknown keys were found before, with the keys that would have been right.
		if strings.Contains(e.Detail, "forbidden property") {
			continue
		}
		// A wrong type breaks an enum too, and a format besides, without a path: one message is enough.
		switch p := s.explain(object, e); {
		case p.Path == "":
			pathless = append(pathless, Problem{Message: e.Detail})
		case !slices.Contains(problems, p):
			problems = append(problems, p)
		}
	}
	if len(problems) == 0 {
		problems = append(pathless, s.rules.check(object, "")...)
	}
	if len(problems) == 0 {
		for _, e := range validation.ValidateCustomResource(nil, object, s.full) {
			if !strings.Contains(e.Detail, "forbidden property") {
				problems = append(problems, Problem{Message: e.Detail})
			}
		}
	}
	return problems
}

// explain turns a validator's error into words.
func (s *schema) explain(object map[string]any, e *field.Error) Problem {
	path := strings.TrimPrefix(e.Field, "<nil>")
	node, value, found := s.at(object, path)
	switch {
	case e.Type == field.ErrorTypeRequired:
		return Problem{path, "missing, expected " + describe(node)}
	case !found:
		return Problem{path, e.Detail}
	}
	return Problem{path, fmt.Sprintf("found %s, expected %s", show(value), describe(node)) + unquoted(value, node)}
}

// at returns the schema and the value at a path such as `nodeGroups[1].drivers[0]`. Keys of maps may hold dots, so the path is
// walked along the value, not cut at dots.
func (s *schema) at(object any, path string) (node *structuralschema.Structural, value any, found bool) {
	node, value = s.structural, object
	for path != "" && node != nil {
		path = strings.TrimPrefix(path, ".")
		switch v := value.(type) {
		case []any:
			var i int
			if _, err := fmt.Sscanf(path, "[%d]", &i); err != nil || i >= len(v) {
				return node, nil, false
			}
			path = path[strings.Index(path, "]")+1:]
			node, value = node.Items, v[i]
		case map[string]any:
			key := longestKey(v, node, path)
			if key == "" {
				return node, nil, false
			}
			path = path[len(key):]
			value = v[key]
			node = child(node, key)
		default:
			return node, nil, false
		}
	}
	return node, value, node != nil
}

// longestKey is the longest key of the value, or of the schema, that the path starts with.
func longestKey(v map[string]any, node *structuralschema.Structural, path string) string {
	best := ""
	try := func(k string) {
		rest, ok := strings.CutPrefix(path, k)
		if ok && len(k) > len(best) && (rest == "" || rest[0] == '.' || rest[0] == '[') {
			best = k
		}
	}
	for k := range v {
		try(k)
	}
	for k := range node.Properties {
		try(k)
	}
	return best
}

func child(node *structuralschema.Structural, key string) *structuralschema.Structural {
	if p, ok := node.Properties[key]; ok {
		return &p
	}
	if node.AdditionalProperties != nil {
		return node.AdditionalProperties.Structural
	}
	return nil
}

// unknownKeys reports keys that no schema declares, at every depth.
func unknownKeys(value any, node *structuralschema.Structural, path string) []Problem {
	var out []Problem
	switch v := value.(type) {
	case map[string]any:
		if node.XPreserveUnknownFields || node.Type != "object" {
			return nil
		}
		for k, x := range v {
			at := join(path, k)
			if sub := child(node, k); sub != nil {
				out = append(out, unknownKeys(x, sub, at)...)
			} else {
				out = append(out, Problem{at, "unknown key, expected " + keys(node)})
			}
		}
	case []any:
		if node.Items == nil {
			return nil
		}
		for i, x := range v {
			out = append(out, unknownKeys(x, node.Items, fmt.Sprintf("%s[%d]", path, i))...)
		}
	}
	return out
}

func keys(node *structuralschema.Structural) string {
	names := make([]string, 0, len(node.Properties))
	for k := range node.Properties {
		names = append(names, k)
	}
	sort.Strings(names)
	return "one of: " + strings.Join(names, ", ")
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}
