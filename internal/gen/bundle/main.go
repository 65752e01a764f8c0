// Command bundle puts the Deckhouse module together in a folder: what a module's image holds, and what addon-operator loads.
// It ships no values.yaml and no values.schema.json: Deckhouse would read the whole of values.yaml as the module's values, and
// its defaults are those of openapi.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"helm.sh/helm/v3/pkg/chartutil"
	"sigs.k8s.io/yaml"
)

// hooksBinary is where addon-operator looks for batch hooks: any executable below hooks/ without an extension.
const hooksBinary = "hooks/gpu-dra-hooks"

// files of the root that belong to a module, and folders with the endings of what they give to it.
var (
	files   = []string{".helmignore", "Chart.yaml", "LICENSE", "oss.yaml"}
	folders = map[string][]string{
		"crds":       {".yaml"},
		"docs":       {".md", ".yaml", ".png", ".svg"},
		"monitoring": {".yaml", ".json", ".tpl"},
		"openapi":    {".yaml"},
		"profiles":   {".yaml"},
		"templates":  {".yaml", ".tpl", ".txt"},
	}
)

// options of a bundle.
type options struct {
	root, out, hooks, digests, version string
}

func main() {
	o := options{}
	flag.StringVar(&o.root, "root", ".", "root of the repository")
	flag.StringVar(&o.out, "out", "", "folder to write; an earlier bundle there is replaced")
	flag.StringVar(&o.hooks, "hooks", "", "the built hooks (without -trimpath)")
	flag.StringVar(&o.digests, "images-digests", "", "JSON file with image digests by name; none: images by tag")
	flag.StringVar(&o.version, "version", "", "version of the module; default: that of Chart.yaml")
	flag.Parse()
	if err := build(o); err != nil {
		fmt.Fprintln(os.Stderr, "bundle:", err)
		os.Exit(1)
	}
}

func build(o options) error {
	if o.out == "" || o.hooks == "" {
		return fmt.Errorf("--out and --hooks are needed")
	}
	if err := clear(o.out); err != nil {
		return err
	}
	for _, name := range files {
		if err := copyFile(filepath.Join(o.root, name), filepath.Join(o.out, name), 0o644); err != nil {
			return err
		}
	}
	if err := writeModule(o); err != nil {
		return err
	}
	for name, endings := range folders {
		if err := copyFolder(o, name, endings); err != nil {
			return err
		}
	}
	if err := copyFile(o.hooks, filepath.Join(o.out, filepath.FromSlash(hooksBinary)), 0o755); err != nil {
		return err
	}
	return writeFacts(o)
}

// clear removes an earlier bundle. Anything else in the folder is somebody's, and stays.
func clear(out string) error {
	entries, err := os.ReadDir(out)
	if os.IsNotExist(err) || (err == nil && len(entries) == 0) {
		return nil
	}
	if err != nil {
		return err
	}
	// A module's sources have a module.yaml too.
	if _, err := os.Stat(filepath.Join(out, filepath.FromSlash(hooksBinary))); err != nil {
		return fmt.Errorf("%s is not empty and holds no %s, so it is no earlier bundle: remove it yourself", out, hooksBinary)
	}
	return os.RemoveAll(out)
}

func copyFolder(o options, name string, endings []string) error {
	return filepath.WalkDir(filepath.Join(o.root, name), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		for _, ending := range endings {
			if strings.HasSuffix(path, ending) {
				below, err := filepath.Rel(o.root, path)
				if err != nil {
					return err
				}
				return copyFile(path, filepath.Join(o.out, below), 0o644)
			}
		}
		return nil
	})
}

func copyFile(from, to string, mode os.FileMode) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	return os.WriteFile(to, data, mode)
}

// writeFacts writes what a build knows: digests of the images and the version.
func writeFacts(o options) error {
	digests := []byte("{}\n")
	if o.digests != "" {
		data, err := os.ReadFile(o.digests)
		if err != nil {
			return err
		}
		if err := json.Unmarshal(data, &map[string]string{}); err != nil {
			return fmt.Errorf("%s: expected digests by image name: %w", o.digests, err)
		}
		digests = data
	}
	if err := os.WriteFile(filepath.Join(o.out, "images_digests.json"), digests, 0o644); err != nil {
		return err
	}
	version := o.version
	if version == "" {
		chart := struct {
			Version string `json:"version"`
		}{}
		data, err := os.ReadFile(filepath.Join(o.root, "Chart.yaml"))
		if err != nil {
			return err
		}
		if err := yaml.Unmarshal(data, &chart); err != nil {
			return fmt.Errorf("reading Chart.yaml: %w", err)
		}
		version = "v" + chart.Version
	}
	data, err := json.Marshal(map[string]string{"version": version})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "version.json"), append(data, '\n'), 0o644)
}

// russian is what Deckhouse wants of module.yaml in Russian, in a file of its own as with all texts.
const russian = "docs/doc-ru-module.yaml"

// writeModule puts the Russian texts into module.yaml, where Deckhouse reads them.
func writeModule(o options) error {
	module := map[string]any{}
	for _, name := range []string{"module.yaml", russian} {
		data, err := os.ReadFile(filepath.Join(o.root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		part := map[string]any{}
		if err := yaml.UnmarshalStrict(data, &part); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		module = chartutil.MergeTables(part, module)
	}
	data, err := yaml.Marshal(module)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(o.out, "module.yaml"), data, 0o644)
}
