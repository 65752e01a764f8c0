// Command values writes what follows from openapi/config-values.yaml: the chart's values.yaml and values.schema.json, the
// defaults for the templates, and docs/settings.md in two languages. With --check it writes nothing and fails where the tree
// differs.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gpu-dra/gpu-dra/internal/gen/output"
	"github.com/gpu-dra/gpu-dra/internal/gen/schemadoc"
)

func main() {
	root := flag.String("root", ".", "root of the repository")
	check := flag.Bool("check", false, "only check that the files are as generated")
	flag.Parse()
	if err := run(*root, *check); err != nil {
		fmt.Fprintln(os.Stderr, "values:", err)
		os.Exit(1)
	}
}

func run(root string, check bool) error {
	files, err := generate(root)
	if err != nil {
		return err
	}
	return files.Emit(root, check)
}

// generate reads the schema from the tree, not from the binary, so that one run after an edit is enough.
func generate(root string) (output.Files, error) {
	schema, err := os.ReadFile(filepath.Join(root, "openapi", "config-values.yaml"))
	if err != nil {
		return nil, err
	}
	russian, err := os.ReadFile(filepath.Join(root, "openapi", "doc-ru-config-values.yaml"))
	if err != nil {
		return nil, err
	}
	en, err := schemadoc.Parse(schema, nil)
	if err != nil {
		return nil, fmt.Errorf("openapi/config-values.yaml: %w", err)
	}
	ru, err := schemadoc.Parse(schema, russian)
	if err != nil {
		return nil, fmt.Errorf("openapi/doc-ru-config-values.yaml: %w", err)
	}
	jsonSchema, err := jsonSchema(schema)
	if err != nil {
		return nil, err
	}
	files := output.Files{
		"values.yaml":             valuesYAML(en),
		"values.schema.json":      jsonSchema,
		"templates/_defaults.tpl": defaultsTemplate(en),
	}
	for name, tree := range map[string]*schemadoc.Node{"docs/settings.md": en, "docs/settings.ru.md": ru} {
		page, err := page(name, tree)
		if err != nil {
			return nil, err
		}
		files[name] = page
	}
	return files, nil
}
