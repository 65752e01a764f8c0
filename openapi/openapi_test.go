package openapi_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/openapi"
)

func tree(t *testing.T, data []byte) map[string]any {
	t.Helper()
	out := map[string]any{}
	require.NoError(t, yaml.UnmarshalStrict(data, &out))
	return out
}

// below are the schemas inside a schema by their place in it.
func below(node map[string]any) map[string]map[string]any {
	out := map[string]map[string]any{}
	properties, _ := node["properties"].(map[string]any)
	for k, v := range properties {
		if m, ok := v.(map[string]any); ok {
			out["properties."+k] = m
		}
	}
	for _, k := range []string{"items", "additionalProperties"} {
		if m, ok := node[k].(map[string]any); ok {
			out[k] = m
		}
	}
	return out
}

func TestEveryDescriptionHasItsRussianTwin(t *testing.T) {
	data, err := os.ReadFile("doc-ru-config-values.yaml")
	require.NoError(t, err)
	cyrillic := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) })
	}
	var walk func(en, ru map[string]any, path string)
	walk = func(en, ru map[string]any, path string) {
		description, _ := en["description"].(string)
		twin, _ := ru["description"].(string)
		require.False(t, cyrillic(description), "%s: Russian in the English description", path)
		require.Equal(t, description != "", twin != "", "%s: a description in one language only", path)
		if len(twin) > 40 {
			require.True(t, cyrillic(twin), "%s: English in the Russian description", path)
		}
		for k := range ru {
			require.Contains(t, []string{"description", "properties", "items", "additionalProperties"}, k, "%s: doc-ru holds descriptions only", path)
		}
		children := below(en)
		for k, sub := range below(ru) {
			require.Contains(t, children, k, "%s: not in config-values.yaml", path)
			walk(children[k], sub, path+"."+k)
		}
		twins := below(ru)
		for k, sub := range children {
			walk(sub, twins[k], path+"."+k)
		}
	}
	walk(tree(t, openapi.ConfigValues), tree(t, data), "settings")
}

// addon-operator closes no object inside map values, and leaves open whatever says nothing; Helm closes none at all.
func TestEveryObjectIsClosed(t *testing.T) {
	for name, data := range map[string][]byte{"config-values": openapi.ConfigValues, "values": openapi.Values} {
		var walk func(node map[string]any, path string)
		walk = func(node map[string]any, path string) {
			switch allowed := node["additionalProperties"].(type) {
			case nil:
				require.NotEqual(t, "object", node["type"], "%s: say additionalProperties", path)
			case bool:
				if allowed {
					require.Equal(t, true, node["x-kubernetes-preserve-unknown-fields"], "%s: open", path)
				}
			}
			for k, sub := range below(node) {
				walk(sub, path+"."+k)
			}
		}
		walk(tree(t, data), name)
	}
}

func TestEnumsAreCamelCase(t *testing.T) {
	word := regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	var walk func(node map[string]any, path string)
	walk = func(node map[string]any, path string) {
		values, _ := node["enum"].([]any)
		for _, v := range values {
			require.Regexp(t, word, v, path)
		}
		for k, sub := range below(node) {
			walk(sub, path+"."+k)
		}
	}
	walk(tree(t, openapi.ConfigValues), "settings")
}
