package main

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"sigs.k8s.io/yaml"
)

// jsonSchema is values.schema.json: the schema of the settings at the values root, plus the two keys that are no settings.
// addon-operator's Helm client validates {global, gpuDra} with it too.
func jsonSchema(openapi []byte) ([]byte, error) {
	var s map[string]any
	if err := yaml.UnmarshalStrict(openapi, &s); err != nil {
		return nil, err
	}
	s, _ = plain(s).(map[string]any)
	s["$schema"] = "http://json-schema.org/draft-07/schema#"
	s["title"] = "Settings of gpu-dra"
	properties, _ := s["properties"].(map[string]any)
	properties["global"] = map[string]any{
		"type":        "object",
		"description": "Values that Helm shares between charts. gpu-dra reads none of them outside Deckhouse.",
	}
	properties["gpuDra"] = map[string]any{
		"type":        "object",
		"description": "Written by addon-operator, which has checked it with the module's own schema. Not for Helm users: settings stand at the root.",
	}
	b := &bytes.Buffer{}
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	if err := e.Encode(s); err != nil {
		return nil, err
	}
	// Lines keep a diff readable; their indentation would take 40 KB of the 500 that a chart may have.
	return indent.ReplaceAll(b.Bytes(), nil), nil
}

// indent of a line; a JSON string has no line breaks.
var indent = regexp.MustCompile(`(?m)^ +`)

// plain drops what JSON schema does not know: extensions, and formats that are Kubernetes' own.
func plain(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			if k == "properties" {
				out[k] = plainProperties(x)
				continue
			}
			if s, ok := x.(string); ok && k == "description" {
				x = strings.TrimSpace(s)
			}
			if !strings.HasPrefix(k, "x-") && k != "format" {
				out[k] = plain(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = plain(x)
		}
		return out
	}
	return v
}

// plainProperties keeps every key: they are names of settings.
func plainProperties(v any) any {
	in, _ := v.(map[string]any)
	out := map[string]any{}
	for k, x := range in {
		out[k] = plain(x)
	}
	return out
}
