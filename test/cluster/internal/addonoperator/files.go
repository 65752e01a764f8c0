// Package addonoperator runs the real addon-operator, the engine of Deckhouse, on one
// module, without Deckhouse around it.
package addonoperator

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/layout"
)

const (
	// Name is the process's name in the record and in `cluster status`.
	Name = "addon-operator"
	// Module is the module's name, and Key is where addon-operator keeps its values.
	Module = "gpu-dra"
	Key    = "gpuDra"

	moduleFolder = "001-" + Module
	socket       = "debug.sock"
)

// folders are the places addon-operator works in, below the cluster's folder.
type folders struct{ root string }

func foldersOf(dir layout.Dir) folders { return folders{dir.Data(Name)} }

func (f folders) modules() string     { return filepath.Join(f.root, "modules") }
func (f folders) globalHooks() string { return filepath.Join(f.root, "global-hooks") }
func (f folders) temporary() string   { return filepath.Join(f.root, "tmp") }

// writeModules copies the module and writes the values around it.
func (f folders) writeModules(module string, enabledModules []string) error {
	if info, err := os.Stat(module); err != nil || !info.IsDir() {
		return fmt.Errorf("module %s: a folder with module.yaml or Chart.yaml is expected there (%v)", module, err)
	}
	if err := os.RemoveAll(f.modules()); err != nil {
		return fmt.Errorf("the old copy of the module cannot be removed: %w", err)
	}
	for _, dir := range []string{f.modules(), f.globalHooks(), f.temporary()} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("addon-operator's folder cannot be made: %w", err)
		}
	}
	if err := copyTree(filepath.Join(f.modules(), moduleFolder), module); err != nil {
		return fmt.Errorf("module %s cannot be copied: %w", module, err)
	}
	values, err := globalValues(enabledModules)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(f.modules(), "values.yaml"), values, 0o644); err != nil {
		return fmt.Errorf("addon-operator's values cannot be written: %w", err)
	}
	return nil
}

const valuesHeader = `# A TEST STAND-IN, written by test/cluster. In Deckhouse "global" is filled by its own
# global hooks and enabledModules is the list of modules that are really on; here it is a
# list somebody typed, so that templates which ask for it find something.
`

func globalValues(enabledModules []string) ([]byte, error) {
	raw, err := yaml.Marshal(map[string]any{
		"global":        map[string]any{"enabledModules": enabledModules},
		Key + "Enabled": true,
	})
	if err != nil {
		return nil, fmt.Errorf("addon-operator's values: %w", err)
	}
	return append([]byte(valuesHeader), raw...), nil
}

// copyTree copies a module as it will be shipped: modes are kept, since hooks are
// recognised by being executable, and links are followed.
func copyTree(to, from string) error {
	root, err := filepath.EvalSymlinks(from)
	if err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		// A work tree in place of a bundle would bring its history along.
		if entry.Name() == ".git" {
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		target := filepath.Join(to, relative)
		if info.IsDir() {
			if entry.Type()&fs.ModeSymlink != 0 {
				return copyTree(target, path)
			}
			return os.MkdirAll(target, 0o755)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, content, info.Mode().Perm())
	})
}

// readSettings checks that a settings file is a YAML mapping; addon-operator would only
// log it and wait.
func readSettings(path string) (string, error) {
	if path == "" {
		return "{}\n", nil
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("settings: %w", err)
	}
	var settings map[string]any
	if err := yaml.UnmarshalStrict(raw, &settings); err != nil {
		return "", fmt.Errorf("settings %s: expected a YAML mapping, the values below %q: %w", path, Key, err)
	}
	if len(settings) == 0 || strings.TrimSpace(string(raw)) == "" {
		return "{}\n", nil
	}
	return string(raw), nil
}
