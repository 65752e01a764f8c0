package recipe

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func mustFor(t *testing.T, component, kubernetes string) Recipe {
	t.Helper()
	r, err := For(component, kubernetes, filepath.Join("..", "..", "..", "..", Committed[component]))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEveryNameHasARecipe(t *testing.T) {
	keys := map[string]string{}
	for _, name := range Names {
		r := mustFor(t, name, DefaultKubernetes)
		if r.Component != name || !strings.HasPrefix(r.Version, "v") || r.Package == "" {
			t.Errorf("%s: %+v", name, r)
		}
		key := r.Key("go1 linux/amd64")
		if other, ok := keys[key]; ok {
			t.Errorf("%s and %s have the key %s", name, other, key)
		}
		keys[key] = name
		if !strings.HasPrefix(key, name+"-"+r.Version+"-") {
			t.Errorf("key %s does not name %s %s", key, name, r.Version)
		}
	}
	if _, err := For("kubelets", DefaultKubernetes, ""); err == nil {
		t.Error("an unknown program has a recipe")
	}
}

func TestKeyFollowsWhatDecidesTheBinary(t *testing.T) {
	base := mustFor(t, "kube-apiserver", "1.34.4")
	key := base.Key("go1 linux/amd64")
	if again := mustFor(t, "kube-apiserver", "1.34.4").Key("go1 linux/amd64"); again != key {
		t.Errorf("the same recipe has two keys, %s and %s", key, again)
	}
	for what, other := range map[string]string{
		"version":   mustFor(t, "kube-apiserver", "1.36.3").Key("go1 linux/amd64"),
		"toolchain": base.Key("go2 linux/amd64"),
		"platform":  base.Key("go1 linux/arm64"),
	} {
		if other == key {
			t.Errorf("another %s has the same key %s", what, key)
		}
	}
}

func TestOperatorKeyFollowsItsModuleAndNotItsPlace(t *testing.T) {
	source := filepath.Join("..", "..", "..", "operator")
	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		raw, err := os.ReadFile(filepath.Join(source, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), raw, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	here := mustFor(t, "addon-operator", DefaultKubernetes)
	there, err := For("addon-operator", DefaultKubernetes, dir)
	if err != nil {
		t.Fatal(err)
	}
	if here.Key("go1") != there.Key("go1") {
		t.Error("a second clone would build addon-operator again")
	}
	if err := os.WriteFile(filepath.Join(dir, "go.sum"), []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	changed, err := For("addon-operator", DefaultKubernetes, dir)
	if err != nil {
		t.Fatal(err)
	}
	if changed.Key("go1") == here.Key("go1") {
		t.Error("other pins have the same key")
	}
}

// What the unit tests compiled serves for these too, as long as they are built with the same versions.
func TestHelmFollowsTheVersionsOfTheRepository(t *testing.T) {
	dir := t.TempDir()
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"helm", "kwok", Promtool} {
		here := mustFor(t, name, DefaultKubernetes)
		if here.Module.Beside != string(raw) {
			t.Errorf("%s is built with other versions: %s", name, here.Module.Beside)
		}
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), append(raw, "require example.com/other v1.0.0\n"...), 0o644); err != nil {
			t.Fatal(err)
		}
		changed, err := For(name, DefaultKubernetes, dir)
		if err != nil {
			t.Fatal(err)
		}
		if changed.Key("go1") == here.Key("go1") {
			t.Errorf("%s: other versions have the same key", name)
		}
		if _, err := For(name, DefaultKubernetes, t.TempDir()); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without go.mod the error is %v, want one that names %s", err, name)
		}
	}
}

func TestParseKubernetes(t *testing.T) {
	for given, want := range map[string]string{"1.34.4": "1.34.4", "v1.37.2": "1.37.2"} {
		if got, err := ParseKubernetes(given); err != nil || got != want {
			t.Errorf("%q: %q, %v", given, got, err)
		}
	}
	for _, given := range []string{"", "1.34", "2.0.0", "1.33.9", "latest"} {
		if got, err := ParseKubernetes(given); err == nil {
			t.Errorf("%q was accepted as %q", given, got)
		}
	}
}
