// Package schemadoc reads an OpenAPI schema for generators: with the order of its keys, and with the descriptions of its
// twin in another language.
package schemadoc

import (
	"fmt"

	"gopkg.in/yaml.v3"
)

// Node is one setting.
type Node struct {
	// Name of the key; `[]` for list items and `<name>` for map values.
	Name        string
	Type        string
	Description string
	Enum        []string
	// Default as flow YAML, empty when there is none.
	Default string
	// Required by the object it stands in.
	Required bool
	// Children are properties in the order of the file, or the items of a list, or the values of a map.
	Children []*Node
	// Alias is true where the schema refers to an earlier part of itself (a YAML alias).
	Alias bool
	// Anchor is the name of the YAML anchor that an alias refers to, or that stands here.
	Anchor string
}

// Parse reads a schema. words is its twin with descriptions in another language, nil for the schema's own.
func Parse(schema, words []byte) (*Node, error) {
	var s, w yaml.Node
	if err := yaml.Unmarshal(schema, &s); err != nil {
		return nil, err
	}
	if words != nil {
		if err := yaml.Unmarshal(words, &w); err != nil {
			return nil, err
		}
	}
	return build("", s.Content[0], root(&w), words == nil)
}

func root(n *yaml.Node) *yaml.Node {
	if n == nil || len(n.Content) == 0 {
		return nil
	}
	return n.Content[0]
}

func build(name string, s, words *yaml.Node, own bool) (*Node, error) {
	n := &Node{Name: name, Anchor: s.Anchor}
	if s.Kind == yaml.AliasNode {
		n.Alias, n.Anchor = true, s.Alias.Anchor
		s = s.Alias
	}
	words = resolve(words)
	n.Type = text(get(s, "type"))
	if get(s, "x-kubernetes-int-or-string") != nil {
		n.Type = "quantity"
	}
	n.Description = text(get(words, "description"))
	if own {
		n.Description = text(get(s, "description"))
	}
	for _, e := range list(get(s, "enum")) {
		n.Enum = append(n.Enum, e.Value)
	}
	if d := get(s, "default"); d != nil {
		var v any
		if err := d.Decode(&v); err != nil {
			return nil, fmt.Errorf("%s: default: %w", name, err)
		}
		n.Default = flow(v)
	}
	required := map[string]bool{}
	for _, r := range list(get(s, "required")) {
		required[r.Value] = true
	}
	properties := resolve(get(s, "properties"))
	if properties != nil {
		for i := 0; i < len(properties.Content); i += 2 {
			key := properties.Content[i].Value
			child, err := build(key, properties.Content[i+1], get(get(words, "properties"), key), own)
			if err != nil {
				return nil, err
			}
			child.Required = required[key]
			n.Children = append(n.Children, child)
		}
	}
	for key, name := range map[string]string{"items": "[]", "additionalProperties": "<name>"} {
		if sub := get(s, key); sub != nil && resolve(sub).Kind == yaml.MappingNode {
			child, err := build(name, sub, get(words, key), own)
			if err != nil {
				return nil, err
			}
			n.Children = append(n.Children, child)
		}
	}
	return n, nil
}

func resolve(n *yaml.Node) *yaml.Node {
	if n != nil && n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// get returns the value of a key, as it stands in the file: an alias stays one.
func get(n *yaml.Node, key string) *yaml.Node {
	n = resolve(n)
	if n == nil || n.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i+1]
		}
	}
	return nil
}

func list(n *yaml.Node) []*yaml.Node {
	if n == nil {
		return nil
	}
	return n.Content
}

func text(n *yaml.Node) string {
	if n == nil {
		return ""
	}
	return n.Value
}
