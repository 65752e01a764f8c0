package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart/loader"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/charttest"
)

// inBundle is all that a bundle may hold.
var inBundle = regexp.MustCompile(`^(\.helmignore|Chart\.yaml|LICENSE|module\.yaml|oss\.yaml|images_digests\.json|version\.json|` +
	`hooks/gpu-dra-hooks|openapi/(config-values|values|doc-ru-config-values)\.yaml|crds/(doc-ru-)?gpu[a-z]+\.yaml|` +
	`profiles/(drivers|distributions)/[a-z-]+\.yaml|docs/.+|monitoring/.+|templates/.+)$`)

func bundle(t *testing.T) string {
	t.Helper()
	hooks := filepath.Join(t.TempDir(), "built")
	require.NoError(t, os.WriteFile(hooks, []byte("#!/bin/sh\n"), 0o600))
	out := filepath.Join(t.TempDir(), "001-gpu-dra")
	require.NoError(t, build(options{root: charttest.Root(), out: out, hooks: hooks}))
	// A second time replaces the first.
	require.NoError(t, os.WriteFile(filepath.Join(out, "values.yaml"), nil, 0o600))
	require.NoError(t, build(options{root: charttest.Root(), out: out, hooks: hooks}))
	return out
}

func TestBundleHoldsAModule(t *testing.T) {
	out := bundle(t)
	names := map[string]bool{}
	require.NoError(t, filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		name, _ := filepath.Rel(out, path)
		if err == nil && !d.IsDir() {
			require.Regexp(t, inBundle, name)
			names[filepath.ToSlash(name)] = true
		}
		return err
	}))
	for _, name := range []string{
		".helmignore", "Chart.yaml", "module.yaml", "oss.yaml", "images_digests.json", "version.json", "hooks/gpu-dra-hooks",
		"openapi/config-values.yaml", "openapi/values.yaml", "openapi/doc-ru-config-values.yaml",
		"crds/gpunodes.yaml", "crds/doc-ru-gpunodes.yaml", "profiles/distributions/deckhouse.yaml", "docs/settings.ru.md",
		"monitoring/metrics.yaml",
		"templates/_defaults.tpl", "templates/controller/deployment.yaml",
	} {
		require.True(t, names[name], "%s is missing", name)
	}
	require.False(t, names["values.yaml"] || names["values.schema.json"], "Deckhouse would take values.yaml for the module's values")

	info, err := os.Stat(filepath.Join(out, hooksBinary))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o111, "addon-operator takes only executables for hooks")
	version, err := os.ReadFile(filepath.Join(out, "version.json"))
	require.NoError(t, err)
	require.JSONEq(t, `{"version": "v0.1.0"}`, string(version))
}

// Deckhouse reads both languages in one file, and the tree keeps them apart.
func TestModuleSpeaksBothLanguages(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(bundle(t), "module.yaml"))
	require.NoError(t, err)
	var module struct {
		Name         string
		Descriptions map[string]string
		Disable      struct {
			Confirmation bool
			Messages     map[string]string
		}
	}
	require.NoError(t, yaml.Unmarshal(data, &module))
	require.Equal(t, "gpu-dra", module.Name)
	require.True(t, module.Disable.Confirmation)
	for _, texts := range []map[string]string{module.Descriptions, module.Disable.Messages} {
		require.NotRegexp(t, `\p{Cyrillic}`, texts["en"])
		require.NotEmpty(t, texts["en"])
		require.Regexp(t, `\p{Cyrillic}`, texts["ru"])
	}
}

// Without values.yaml the chart renders the same under hooks: its defaults come along in templates/_defaults.tpl.
func TestBundleRendersAsTheTreeDoes(t *testing.T) {
	fromBundle, err := loader.LoadDir(bundle(t))
	require.NoError(t, err)
	total := 0
	for _, f := range fromBundle.Raw {
		require.NotRegexp(t, `^(hooks|docs|openapi)/`, f.Name, "it would end up in the release Secret")
		total += len(f.Data)
	}
	require.LessOrEqual(t, total, 500<<10, "as the package for plain Helm: internal/gen/chart")
	require.Len(t, fromBundle.CRDObjects(), 4)
	fromTree, err := charttest.Load()
	require.NoError(t, err)
	values := func() map[string]any {
		return map[string]any{
			"global": map[string]any{},
			"gpuDra": map[string]any{
				"internal":   map[string]any{},
				"nodeGroups": []any{map[string]any{"name": "gpu-a100", "drivers": []any{"nvidia"}}},
			},
		}
	}
	a, _, err := charttest.Render(fromBundle, charttest.Options{Values: values()})
	require.NoError(t, err)
	b, _, err := charttest.Render(fromTree, charttest.Options{Values: values()})
	require.NoError(t, err)
	require.Equal(t, b, a)
}

func TestWhatIsNoBundleStays(t *testing.T) {
	out := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(out, "thesis.txt"), nil, 0o600))
	require.ErrorContains(t, build(options{root: charttest.Root(), out: out, hooks: os.Args[0]}), "remove it yourself")
	require.FileExists(t, filepath.Join(out, "thesis.txt"))
}
