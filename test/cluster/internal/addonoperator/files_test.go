package addonoperator

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

func TestWriteModules(t *testing.T) {
	module := t.TempDir()
	write(t, filepath.Join(module, "module.yaml"), "name: gpu-dra\n", 0o644)
	write(t, filepath.Join(module, "hooks", "run"), "#!/bin/sh\n", 0o755)
	write(t, filepath.Join(module, ".git", "config"), "x", 0o644)
	if err := os.Symlink(filepath.Join(module, "module.yaml"), filepath.Join(module, "linked.yaml")); err != nil {
		t.Fatal(err)
	}
	f := folders{t.TempDir()}
	// Twice: what a former module had is gone the second time.
	write(t, filepath.Join(f.modules(), moduleFolder, "old"), "x", 0o644)
	if err := f.writeModules(module, []string{"gpu-dra", "prometheus"}); err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(f.modules(), moduleFolder)
	if info, err := os.Stat(filepath.Join(copied, "hooks", "run")); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("the hook is not executable: %v", err)
	}
	if raw, err := os.ReadFile(filepath.Join(copied, "linked.yaml")); err != nil || string(raw) != "name: gpu-dra\n" {
		t.Errorf("the linked file: %q, %v", raw, err)
	}
	for _, gone := range []string{"old", ".git"} {
		if _, err := os.Stat(filepath.Join(copied, gone)); !os.IsNotExist(err) {
			t.Errorf("%s is there: %v", gone, err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(f.modules(), "values.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var values struct {
		Enabled bool `json:"gpuDraEnabled"`
		Global  struct {
			EnabledModules []string `json:"enabledModules"`
		} `json:"global"`
	}
	if err := yaml.Unmarshal(raw, &values); err != nil || !values.Enabled || len(values.Global.EnabledModules) != 2 {
		t.Errorf("values %s: %v", raw, err)
	}
	if !strings.Contains(string(raw), "TEST STAND-IN") {
		t.Errorf("the values do not say what they are:\n%s", raw)
	}
	if err := f.writeModules(filepath.Join(module, "module.yaml"), nil); err == nil {
		t.Error("a file was taken for a module")
	}
}

func TestReadSettings(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ text, want, say string }{
		"mapping": {text: "nodeGroups: []\n", want: "nodeGroups: []\n"},
		"empty":   {text: "", want: "{}\n"},
		"comment": {text: "# nothing\n", want: "{}\n"},
		"list":    {text: "- a\n", say: "expected a YAML mapping"},
		"twice":   {text: "a: 1\na: 2\n", say: "expected a YAML mapping"},
	} {
		path := filepath.Join(dir, name)
		write(t, path, c.text, 0o644)
		got, err := readSettings(path)
		if c.say != "" {
			if err == nil || !strings.Contains(err.Error(), c.say) {
				t.Errorf("%s: error %v, want one with %q", name, err, c.say)
			}
		} else if err != nil || got != c.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
