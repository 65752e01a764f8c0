package main

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/chart/loader"

	"github.com/gpu-dra/gpu-dra/internal/charttest"
)

// inPackage is all that the package for plain Helm may hold.
var inPackage = regexp.MustCompile(`^(Chart\.yaml|LICENSE|values\.yaml|values\.schema\.json|crds/gpu[a-z]+\.yaml|` +
	`profiles/(drivers|distributions)/[a-z-]+\.yaml|monitoring/.+|templates/.+\.(yaml|tpl)|templates/NOTES\.txt)$`)

// packages the tree and loads the package as Helm does.
func packages(t *testing.T) (string, *chart.Chart) {
	t.Helper()
	path, err := build(charttest.Root(), filepath.Join(t.TempDir(), "out"))
	require.NoError(t, err)
	loaded, err := loader.LoadFile(path)
	require.NoError(t, err)
	return path, loaded
}

func TestPackageHoldsTheChart(t *testing.T) {
	path, fromPackage := packages(t)
	require.Equal(t, fromPackage.Name()+"-"+fromPackage.Metadata.Version+".tgz", filepath.Base(path))
	names := map[string]bool{}
	for _, f := range fromPackage.Raw {
		require.Regexp(t, inPackage, f.Name, "it is for Deckhouse or for nobody: add it to .helmignore")
		names[f.Name] = true
	}
	for _, name := range []string{
		"Chart.yaml", "LICENSE", "values.yaml", "values.schema.json", "crds/gpunodes.yaml", "profiles/drivers/nvidia.yaml",
		"profiles/distributions/vanilla.yaml", "templates/_defaults.tpl", "templates/controller/deployment.yaml", "templates/NOTES.txt",
	} {
		require.True(t, names[name], "%s is missing", name)
	}
	require.Len(t, fromPackage.CRDObjects(), 4, "without the Russian twins, which Helm would apply")
}

// What is packed is what the tree renders.
func TestPackageRendersAsTheTreeDoes(t *testing.T) {
	_, fromPackage := packages(t)
	fromTree, err := charttest.Load()
	require.NoError(t, err)
	for _, name := range examples {
		a, notesA, err := charttest.Render(fromPackage, charttest.Options{Values: settings(t, name)})
		require.NoError(t, err)
		b, notesB, err := charttest.Render(fromTree, charttest.Options{Values: settings(t, name)})
		require.NoError(t, err)
		require.Equal(t, b, a)
		require.Equal(t, notesB, notesA)
	}
}

// Anybody can check that a package was made from a tree. A second apart, since that is what an archive's times tell apart.
func TestSameTreeSameBytes(t *testing.T) {
	a, _ := packages(t)
	time.Sleep(time.Second)
	b, _ := packages(t)
	first, err := os.ReadFile(a)
	require.NoError(t, err)
	second, err := os.ReadFile(b)
	require.NoError(t, err)
	require.Equal(t, first, second)
}

func TestOutIsNeeded(t *testing.T) {
	_, err := build(charttest.Root(), "")
	require.ErrorContains(t, err, "--out is needed")
	_, err = build(t.TempDir(), t.TempDir())
	require.ErrorContains(t, err, "Chart.yaml")
}
