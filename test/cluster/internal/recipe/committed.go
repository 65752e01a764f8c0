package recipe

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Committed are the programs that are built in a module of this repository, or by its versions: the module's folder.
var Committed = map[string]string{"addon-operator": "test/operator", Workload: "test/workload",
	"helm": ".", "kwok": ".", Promtool: "."}

func operatorRecipe(dir string) (Recipe, error) {
	var content strings.Builder
	for _, name := range []string{"go.mod", "go.sum"} {
		raw, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return Recipe{}, fmt.Errorf("addon-operator: its module is expected in test/operator of this repository: %w", err)
		}
		content.Write(raw)
	}
	fields := strings.Fields(content.String())
	at := slices.Index(fields, operatorModule)
	if at < 0 || at+1 == len(fields) {
		return Recipe{}, fmt.Errorf("addon-operator: %s/go.mod does not require %s", dir, operatorModule)
	}
	version := fields[at+1]
	return Recipe{Component: "addon-operator", Version: version,
		Module:    Module{Content: content.String(), Dir: dir},
		Package:   operatorModule + "/cmd/addon-operator",
		Variables: map[string]string{operatorModule + "/pkg/app.Version": version}}, nil
}

// workloadRecipe goes by the sources: they are part of what decides the binary.
func workloadRecipe(dir string) (Recipe, error) {
	var content strings.Builder
	for _, pattern := range []string{"go.mod", "go.sum", "*.go"} {
		paths, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil || len(paths) == 0 {
			return Recipe{}, fmt.Errorf("%s: no %s in %s, which is expected to be test/workload of this repository (%v)", Workload, pattern, dir, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") {
				continue
			}
			raw, err := os.ReadFile(path)
			if err != nil {
				return Recipe{}, fmt.Errorf("%s: %w", Workload, err)
			}
			content.Write(raw)
		}
	}
	return Recipe{Component: Workload, Version: "v0", Package: ".", Module: Module{Content: content.String(), Dir: dir}}, nil
}
