// Command gates writes internal/featuregate/table_generated.go: what every Kubernetes feature gate that accelerators depend on
// is in each minor version, taken from the sources of Kubernetes. It downloads them through the Go proxy and builds nothing.
// With --check it writes nothing and fails where the tree differs. Run it in the root of the repository.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/gpu-dra/gpu-dra/internal/gen/output"
)

const generatedFile = "internal/featuregate/table_generated.go"

func main() {
	check := flag.Bool("check", false, "only check that the file is as generated")
	flag.Parse()
	if err := run(*check); err != nil {
		fmt.Fprintln(os.Stderr, "gates:", err)
		os.Exit(1)
	}
}

func run(check bool) error {
	var all []*source
	for _, version := range versions {
		dir, err := download(version)
		if err != nil {
			return err
		}
		s, err := parse(version, dir)
		if err != nil {
			return err
		}
		all = append(all, s)
	}
	text, err := write(all)
	if err != nil {
		return err
	}
	return output.Files{generatedFile: text}.Emit(".", check)
}
