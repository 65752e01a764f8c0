package render

import (
	"bytes"
	"encoding/json"

	"gopkg.in/yaml.v3"
)

// toYAML writes an object for people: keys in the order of the API's documentation, apiVersion first, expressions of
// several lines as blocks and long ones whole, nothing that only a server fills in (empty objects).
func toYAML(object any) ([]byte, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	// JSON is YAML, and a Node keeps the order of keys.
	var node yaml.Node
	if err := yaml.Unmarshal(data, &node); err != nil {
		return nil, err
	}
	tidy(&node)
	if root := node.Content[0]; len(root.Content) >= 4 && root.Content[2].Value == "apiVersion" {
		c := root.Content
		c[0], c[1], c[2], c[3] = c[2], c[3], c[0], c[1]
	}
	var out bytes.Buffer
	encoder := yaml.NewEncoder(&out)
	encoder.SetIndent(2)
	if err := encoder.Encode(&node); err != nil {
		return nil, err
	}
	return out.Bytes(), encoder.Close()
}

// tidy drops empty objects and the style that JSON has.
func tidy(n *yaml.Node) {
	n.Style = 0
	if n.Kind == yaml.MappingNode {
		kept := n.Content[:0]
		for i := 0; i < len(n.Content); i += 2 {
			if value := n.Content[i+1]; value.Kind != yaml.MappingNode || len(value.Content) > 0 {
				kept = append(kept, n.Content[i], value)
			}
		}
		n.Content = kept
	}
	for _, c := range n.Content {
		tidy(c)
	}
}
