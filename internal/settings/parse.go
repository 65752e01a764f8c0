package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// notSettings are keys beside the settings in `gpuDra` values: facts of hooks, what Deckhouse injects, what Helm adds.
var notSettings = []string{"internal", "registry", "global"}

// Parse reads settings as a user wrote them, YAML or JSON, with or without defaults. Anything that the schema does not know
// is refused with its path. The error is an *InvalidError unless data is no YAML at all. A null is a value that was not set.
func Parse(data []byte) (*Settings, error) {
	object, err := decode(data)
	if err != nil {
		return nil, err
	}
	s, err := loadSchema()
	if err != nil {
		return nil, err
	}
	if err := s.refuse(object); err != nil {
		return nil, err
	}
	return toSettings(object)
}

// FromValues reads the section `gpuDra` of addon-operator's values, as JSON. It gives the same Settings as Parse gives for
// what the user wrote. addon-operator has validated the values against the same schema, and a hook is a new process for
// every run, so the validators, which take most of the time to build, are asked only when the values do not decode.
func FromValues(raw []byte) (*Settings, error) {
	object, err := decode(raw)
	if err != nil {
		return nil, err
	}
	for _, k := range notSettings {
		delete(object, k)
	}
	structural, err := loadStructural()
	if err != nil {
		return nil, err
	}
	fill(object, structural)
	out, err := toSettings(object)
	if err == nil {
		return out, nil
	}
	s, e := loadSchema()
	if e != nil {
		return nil, e
	}
	if e := s.refuse(object); e != nil {
		return nil, e
	}
	return nil, err
}

// decode reads YAML or JSON into JSON types; integers stay int64, as the schema validator wants them. A key that stands twice
// is refused: of two, both formats would silently keep the last.
func decode(data []byte) (map[string]any, error) {
	if !json.Valid(data) {
		asJSON, err := yaml.YAMLToJSONStrict(data)
		if err != nil {
			return nil, fmt.Errorf("settings: %w", err)
		}
		data = asJSON
	}
	// JSON is not read as YAML: text with Unicode's own line breaks would change.
	var value any
	doubled, err := kjson.UnmarshalStrict(data, &value, kjson.DisallowDuplicateFields)
	if err = errors.Join(append(doubled, err)...); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	switch v := value.(type) {
	case nil:
		return map[string]any{}, nil
	case map[string]any:
		return v, nil
	default:
		return nil, &InvalidError{[]Problem{{Message: fmt.Sprintf("found %s, expected an object", show(v))}}}
	}
}

// fill puts defaults in, in place, and takes nulls out: a null is a value that was not set.
func fill(object map[string]any, structural *structuralschema.Structural) {
	defaulting.PruneNonNullableNullsWithoutDefaults(object, structural)
	defaulting.Default(object, structural)
}

// refuse fills defaults in, in place, and says what the schema and its rules find wrong: nil or an *InvalidError.
func (s *schema) refuse(object map[string]any) error {
	problems := unknownKeys(object, s.structural, "")
	fill(object, s.structural)
	problems = append(problems, s.validate(object)...)
	if len(problems) == 0 {
		return nil
	}
	slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return &InvalidError{problems}
}

func toSettings(object map[string]any) (*Settings, error) {
	asJSON, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	out := &Settings{}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(out); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	return out, nil
}
