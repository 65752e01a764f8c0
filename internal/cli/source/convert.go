package source

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"
)

// convert reads an object into a struct. The error names the field, what was found there and what was expected.
func convert(object map[string]any, out any, place string) error {
	err := into(object, out)
	if err == nil {
		return nil
	}
	field, found, expected := locate(object, reflect.TypeOf(out).Elem(), "")
	if field == "" {
		return fmt.Errorf("%s: %w", place, err)
	}
	return fmt.Errorf("%s: %s: found %s, expected %s", place, field, found, expected)
}

func into(value, out any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(data, out)
}

// locate finds the innermost part of a value that does not fit its type. encoding/json names neither the item of a list nor any
// field whose type reads itself, as times and amounts do.
func locate(value any, t reflect.Type, path string) (field, found, expected string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if into(value, reflect.New(t).Interface()) == nil {
		return "", "", ""
	}
	for _, part := range parts(value, t, path) {
		if field, found, expected := locate(part.value, part.t, part.path); field != "" {
			return field, found, expected
		}
	}
	return path, written(value), expectation(t)
}

type part struct {
	value any
	t     reflect.Type
	path  string
}

// parts of a value that have a type of their own.
func parts(value any, t reflect.Type, path string) []part {
	var out []part
	switch v := value.(type) {
	case map[string]any:
		switch t.Kind() {
		case reflect.Map:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				out = append(out, part{v[key], t.Elem(), path + "." + key})
			}
		case reflect.Struct:
			for _, f := range reflect.VisibleFields(t) {
				name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
				if one, ok := v[name]; ok && name != "" && f.IsExported() {
					out = append(out, part{one, f.Type, strings.TrimPrefix(path+"."+name, ".")})
				}
			}
		}
	case []any:
		if t.Kind() == reflect.Slice {
			for i, one := range v {
				out = append(out, part{one, t.Elem(), fmt.Sprintf("%s[%d]", path, i)})
			}
		}
	}
	return out
}

// written is how a value stands in a file, the beginning of it where it is long.
func written(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("a value that is no JSON (%s)", err)
	}
	if text := []rune(string(data)); len(text) > 60 {
		return string(text[:60]) + "..."
	}
	return string(data)
}

// expectation says what a type is written as.
func expectation(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a text"
	case reflect.Slice:
		return "a list"
	case reflect.Map:
		return "a map"
	case reflect.Struct:
		switch {
		case t.ConvertibleTo(reflect.TypeFor[time.Time]()), t.NumField() == 1 && t.Field(0).Type == reflect.TypeFor[time.Time]():
			return "a time such as 2026-03-01T12:00:00Z"
		case t.Name() == "Quantity":
			return "an amount such as 25068Mi"
		}
		return "a map"
	}
	return "a whole number"
}
