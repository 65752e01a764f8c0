// Command chart makes the package for plain Helm: one .tgz with the chart as .helmignore leaves it. It holds neither hooks nor
// openapi nor the Russian texts of the CRDs, which only Deckhouse reads; internal/gen/bundle makes the package for Deckhouse.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

func main() {
	root := flag.String("root", ".", "root of the repository, which is the chart's")
	out := flag.String("out", "", "folder for the package; it is named after the chart and its version")
	flag.Parse()
	path, err := build(*root, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
	fmt.Println(path)
}

// build writes the package and returns its path. The same tree gives the same bytes.
func build(root, out string) (string, error) {
	if out == "" {
		return "", fmt.Errorf("--out is needed: the folder for the package")
	}
	chart, err := loader.LoadDir(root)
	if err != nil {
		return "", fmt.Errorf("loading the chart from %s: %w", root, err)
	}
	scratch, err := os.MkdirTemp("", "chart")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(scratch)
	saved, err := chartutil.Save(chart, scratch)
	if err != nil {
		return "", fmt.Errorf("packing the chart: %w", err)
	}
	archive, err := os.ReadFile(saved)
	if err != nil {
		return "", err
	}
	if archive, err = timeless(archive); err != nil {
		return "", fmt.Errorf("packing the chart: %w", err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	path := filepath.Join(out, filepath.Base(saved))
	return path, os.WriteFile(path, archive, 0o644)
}
