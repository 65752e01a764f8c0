package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

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
	return fromObject(object)
}

// FromValues reads the section `gpuDra` of addon-operator's values, as JSON. It gives the same Settings as Parse gives for
// what the user wrote.
func FromValues(raw []byte) (*Settings, error) {
	object, err := decode(raw)
	if err != nil {
		return nil, err
	}
	for _, k := range notSettings {
		delete(object, k)
	}
	return fromObject(object)
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

// fromObject validates, fills defaults in and decodes. It changes object.
func fromObject(object map[string]any) (*Settings, error) {
	s, err := loadSchema()
	if err != nil {
		return nil, err
	}
	problems := unknownKeys(object, &s.structural, "")
	defaulting.PruneNonNullableNullsWithoutDefaults(object, &s.structural)
	defaulting.Default(object, &s.structural)
	problems = append(problems, s.validate(object)...)
	if len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
		return nil, &InvalidError{problems}
	}
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
