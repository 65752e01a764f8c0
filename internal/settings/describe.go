package settings

import (
	"encoding/json"
	"fmt"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// maxShown is how much of a wrong value stands in a message, in bytes.
const maxShown = 80

// show renders a value for a message.
func show(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprintf("%v", v)
	}
	if len(data) > maxShown {
		return strings.ToValidUTF8(string(data[:maxShown]), "") + "..."
	}
	return string(data)
}

// unquoted says what to do about a word that YAML has read as a boolean: without quotation marks Off is false.
func unquoted(value any, node *structuralschema.Structural) string {
	if value != false || node == nil || node.ValueValidation == nil {
		return ""
	}
	for _, e := range node.ValueValidation.Enum {
		if e.Object == "Off" {
			return `; write "Off" in quotation marks: YAML reads the bare word as false`
		}
	}
	return ""
}

// describe says in words what a schema wants.
func describe(node *structuralschema.Structural) string {
	if node == nil {
		return "something else"
	}
	v := node.ValueValidation
	if v == nil {
		v = &structuralschema.ValueValidation{}
	}
	if len(v.Enum) > 0 {
		values := make([]string, len(v.Enum))
		for i, e := range v.Enum {
			values[i] = fmt.Sprint(e.Object)
		}
		return "one of: " + strings.Join(values, ", ")
	}
	switch node.Type {
	case "string":
		return "a string" + length(v) + pattern(v)
	case "integer", "number":
		return map[string]string{"integer": "an integer", "number": "a number"}[node.Type] + bounds(v)
	case "boolean":
		return "true or false"
	case "array":
		return "a list" + items(v)
	case "object":
		return "an object" + requires(v)
	}
	if node.XIntOrString {
		return "an integer or a string" + pattern(v)
	}
	return "something else"
}

func pattern(v *structuralschema.ValueValidation) string {
	if v.Pattern == "" {
		return ""
	}
	return " that matches " + v.Pattern
}

func length(v *structuralschema.ValueValidation) string {
	switch {
	case v.MinLength != nil && v.MaxLength != nil:
		return fmt.Sprintf(" of %d to %d characters", *v.MinLength, *v.MaxLength)
	case v.MaxLength != nil:
		return fmt.Sprintf(" of at most %d characters", *v.MaxLength)
	case v.MinLength != nil:
		return fmt.Sprintf(" of at least %d characters", *v.MinLength)
	}
	return ""
}

func bounds(v *structuralschema.ValueValidation) string {
	switch {
	case v.Minimum != nil && v.Maximum != nil:
		return fmt.Sprintf(" from %v to %v", *v.Minimum, *v.Maximum)
	case v.Minimum != nil:
		return fmt.Sprintf(" of at least %v", *v.Minimum)
	case v.Maximum != nil:
		return fmt.Sprintf(" of at most %v", *v.Maximum)
	}
	return ""
}

func items(v *structuralschema.ValueValidation) string {
	out := ""
	switch {
	case v.MinItems != nil && v.MaxItems != nil:
		out = fmt.Sprintf(" of %d to %d items", *v.MinItems, *v.MaxItems)
	case v.MaxItems != nil:
		out = fmt.Sprintf(" of at most %d items", *v.MaxItems)
	case v.MinItems != nil:
		out = fmt.Sprintf(" of at least %d items", *v.MinItems)
	}
	if v.UniqueItems {
		out += ", each different"
	}
	return out
}

func requires(v *structuralschema.ValueValidation) string {
	if len(v.Required) == 0 {
		return ""
	}
	return " with " + strings.Join(v.Required, ", ")
}
