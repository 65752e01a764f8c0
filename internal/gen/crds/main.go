// Command crds writes crds/*.yaml from the Go types in api/v1alpha1: controller-gen makes them, this adds the labels that
// Deckhouse asks of a module's CRDs. With --check it writes nothing and fails where the tree differs. Run it in the root of the
// repository.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/gen/output"
)

// labels of every CRD: addon-operator marks its own with `heritage`, dmt wants `module`.
const labels = "  labels:\n    heritage: deckhouse\n    module: gpu-dra\n"

func main() {
	check := flag.Bool("check", false, "only check that the files are as generated")
	command := flag.String("controller-gen", "go tool -modfile=tools/go.mod controller-gen", "controller-gen as a command")
	flag.Parse()
	if err := run(strings.Fields(*command), *check); err != nil {
		fmt.Fprintln(os.Stderr, "crds:", err)
		os.Exit(1)
	}
}

func run(controllerGen []string, check bool) error {
	dir, err := os.MkdirTemp("", "crds")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	args := append(controllerGen[1:], "crd", "paths=./api/...", "output:crd:dir="+dir)
	cmd := exec.Command(controllerGen[0], args...)
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", strings.Join(controllerGen, " "), err)
	}
	generated, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(generated) == 0 {
		return fmt.Errorf("controller-gen wrote no CRD (%v)", err)
	}
	files := output.Files{}
	for _, path := range generated {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// controller-gen names a file group_plural.yaml; the group is the same for all.
		_, name, _ := strings.Cut(filepath.Base(path), "_")
		if files["crds/"+name], err = label(data); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return files.Emit(".", check)
}

// label puts the labels where sorted keys have them: before the name in metadata.
func label(crd []byte) ([]byte, error) {
	const name = "\n  name: "
	if bytes.Count(crd, []byte(name)) != 1 || bytes.Contains(crd, []byte("\n  labels:")) {
		return nil, fmt.Errorf("the metadata is not as controller-gen used to write it")
	}
	crd = bytes.TrimPrefix(crd, []byte("---\n"))
	return bytes.Replace(crd, []byte(name), []byte("\n"+labels+strings.TrimPrefix(name, "\n")), 1), nil
}
