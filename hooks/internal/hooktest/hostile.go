package hooktest

import (
	"encoding/json"
	"testing"

	"github.com/itchyny/gojq"
	"github.com/stretchr/testify/require"
)

// wrong values of every JSON type.
var wrong = []any{nil, true, false, 0, -1.5, 1e300, "", "text", []any{}, []any{nil, 1, "x", []any{}}, map[string]any{}, map[string]any{"x": 1}}

// Hostile returns an object in every shape that a filter may meet and should not: each field of object, at every depth,
// missing or of each wrong type.
func Hostile(t testing.TB, object string) []string {
	t.Helper()
	out := []string{`{}`, `{"metadata":null}`, object}
	var walk func(value any, set func(any))
	encode := func(root any) {
		data, err := json.Marshal(root)
		require.NoError(t, err)
		out = append(out, string(data))
	}
	var root map[string]any
	require.NoError(t, json.Unmarshal([]byte(object), &root))
	walk = func(value any, set func(any)) {
		for _, w := range wrong {
			set(w)
			encode(root)
		}
		set(value)
		switch v := value.(type) {
		case map[string]any:
			for k, item := range v {
				delete(v, k)
				encode(root)
				v[k] = item
				walk(item, func(x any) { v[k] = x })
			}
		case []any:
			for i, item := range v {
				walk(item, func(x any) { v[i] = x })
			}
		}
	}
	for k, item := range root {
		walk(item, func(x any) { root[k] = x })
	}
	return out
}

// RequireTotal runs the filter, with the jq that addon-operator has, over every hostile shape of object: one result each, an
// object, and no error. It does not go through the SDK's jq helpers, which return no error where the only result is one.
func RequireTotal(t testing.TB, filter, object string) {
	t.Helper()
	parsed, err := gojq.Parse(filter)
	require.NoError(t, err)
	code, err := gojq.Compile(parsed)
	require.NoError(t, err)
	for _, shape := range Hostile(t, object) {
		var input any
		require.NoError(t, json.Unmarshal([]byte(shape), &input))
		var results []any
		for iter := code.Run(input); ; {
			result, more := iter.Next()
			if !more {
				break
			}
			if err, failed := result.(error); failed {
				t.Fatalf("%s: %s", shape, err)
			}
			results = append(results, result)
		}
		require.Len(t, results, 1, shape)
		require.IsType(t, map[string]any{}, results[0], shape)
	}
}
