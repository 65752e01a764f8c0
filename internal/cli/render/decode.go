package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"
)

// decode reads JSON at a path of a document into a value and reports keys that the value does not have and values of a
// wrong type, each with its path. specPath is where the spec of a claim template is, seen from path; "" is path itself.
func (in *input) decode(w where, path, specPath string, data []byte, into any) bool {
	before := len(in.errs)
	// A quantity's own error says neither where it stands nor what it is.
	in.checkQuantities(w, path, specPath, data)
	if len(in.errs) > before {
		return false
	}
	unknown, err := kjson.UnmarshalStrict(data, into)
	if err != nil {
		in.typeError(w, path, err)
	}
	for _, u := range unknown {
		if m := strictError.FindStringSubmatch(u.Error()); m != nil {
			in.fail(w, "%s: %s field; correct it or remove it", under(path, m[2]), m[1])
			continue
		}
		in.fail(w, "%w", u)
	}
	return len(in.errs) == before
}

var strictError = regexp.MustCompile(`^(unknown|duplicate) field "(.*)"$`)

func (in *input) typeError(w where, path string, err error) {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		in.fail(w, "%s%s", strings.TrimPrefix(path+": ", ": "), strings.TrimPrefix(err.Error(), "json: "))
		return
	}
	// Embedded structs stand in the decoder's path with the names of their types.
	keys := slices.DeleteFunc(strings.Split(wrong.Field, "."), func(k string) bool { return k != "" && k[0] >= 'A' && k[0] <= 'Z' })
	expected := typeWord(wrong.Type)
	if wrong.Type.Kind() == reflect.String && found(wrong.Value) != "an object" && found(wrong.Value) != "a list" {
		// YAML takes y, no, on and the like for booleans.
		expected += "; put it in quotes"
	}
	in.fail(w, "%s: found %s, expected %s", under(path, strings.Join(keys, ".")), found(wrong.Value), expected)
}

// found is a JSON value's kind, as the decoder calls it, for people.
func found(kind string) string {
	switch kind, _, _ = strings.Cut(kind, " "); kind {
	case "array":
		return "a list"
	case "object":
		return "an object"
	case "string":
		return "text"
	case "bool":
		return "true or false"
	}
	return "a number"
}

func typeWord(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number in range"
}

// under joins two paths, either of which may be empty.
func under(path, rest string) string {
	if path == "" || rest == "" || strings.HasPrefix(rest, "[") {
		return path + rest
	}
	return path + "." + rest
}

func (in *input) checkQuantities(w where, path, specPath string, data []byte) {
	var tree map[string]any
	// What is no object is for the decoder to report.
	_ = json.Unmarshal(data, &tree)
	if specPath != "" {
		tree, _ = tree[specPath].(map[string]any)
	}
	at := under(path, specPath)
	sharing, _ := tree["sharing"].(map[string]any)
	in.checkQuantity(w, under(at, "minMemory"), tree["minMemory"])
	in.checkQuantity(w, under(at, "sharing.pinnedMemoryLimit"), sharing["pinnedMemoryLimit"])
}

func (in *input) checkQuantity(w where, field string, value any) {
	if value == nil {
		return
	}
	text := fmt.Sprint(value)
	if n, ok := value.(float64); ok {
		text = resource.NewQuantity(int64(n), resource.DecimalSI).String()
	}
	if _, err := resource.ParseQuantity(text); err != nil {
		in.fail(w, "%s: found %q, expected a quantity with its unit, such as 16Gi", field, text)
	}
}
