package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/gen/schemadoc"
)

// width of comment lines in values.yaml.
const width = 120

// valuesYAML is the file that `helm show values` prints: every setting that has a default, with its description.
func valuesYAML(settings *schemadoc.Node) []byte {
	b := &bytes.Buffer{}
	b.WriteString("# Generated from openapi/config-values.yaml by `go run ./internal/gen/values`; edit that file.\n")
	b.WriteString("# Every setting, those without a default too: docs/settings.md.\n")
	for _, n := range settings.Children {
		b.WriteString("\n")
		writeDefault(b, n, "", true)
	}
	return b.Bytes()
}

// defaultsTemplate gives the templates the same defaults: a Helm user may take a default away with null, and the Deckhouse
// bundle ships no values.yaml.
func defaultsTemplate(settings *schemadoc.Node) []byte {
	b := &bytes.Buffer{}
	b.WriteString("{{- /* Generated from openapi/config-values.yaml by `go run ./internal/gen/values`; edit that file. */ -}}\n")
	b.WriteString("{{- define \"gpu-dra.defaults\" -}}\n")
	for _, n := range settings.Children {
		writeDefault(b, n, "", false)
	}
	b.WriteString("{{- end -}}\n")
	return b.Bytes()
}

func writeDefault(b *bytes.Buffer, n *schemadoc.Node, indent string, comments bool) {
	if n.Default == "" {
		return
	}
	if comments {
		comment(b, n.Description, indent)
	}
	if n.Type != "object" || !hasDefaults(n) {
		fmt.Fprintf(b, "%s%s: %s\n", indent, n.Name, n.Default)
		return
	}
	fmt.Fprintf(b, "%s%s:\n", indent, n.Name)
	for _, c := range n.Children {
		writeDefault(b, c, indent+"  ", comments)
	}
}

func hasDefaults(n *schemadoc.Node) bool {
	for _, c := range n.Children {
		if c.Default != "" {
			return true
		}
	}
	return false
}

// comment writes a description as comment lines. A line of the description is a paragraph or a list item.
func comment(b *bytes.Buffer, text, indent string) {
	for _, paragraph := range strings.Split(strings.TrimSpace(text), "\n") {
		line, hanging := indent+"#", ""
		if strings.HasPrefix(paragraph, "- ") {
			hanging = "  "
		}
		for _, word := range strings.Fields(paragraph) {
			if len(line)+1+len(word) > width {
				b.WriteString(line + "\n")
				line = indent + "#" + hanging
			}
			line += " " + word
		}
		b.WriteString(line + "\n")
	}
}
