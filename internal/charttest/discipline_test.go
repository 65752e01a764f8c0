package charttest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/gpu-dra/gpu-dra/internal/schematest"
	"github.com/gpu-dra/gpu-dra/openapi"
)

// templates are the chart's template files by path below templates/.
func templates(t *testing.T) map[string]string {
	t.Helper()
	out := map[string]string{}
	root := filepath.Join(Root(), "templates")
	require.NoError(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		out[name] = string(data)
		return err
	}))
	return out
}

var comments = regexp.MustCompile(`(?s)\{\{-? */\*.*?\*/ *-?\}\}`)

// One file decides where settings and facts come from; the rest does not know whether hooks run or who wrote a value.
func TestOnlyTheLoadersLookAtValues(t *testing.T) {
	for name, text := range templates(t) {
		text = comments.ReplaceAllString(text, "")
		if name != "_settings.tpl" {
			require.NotContains(t, text, ".Values", name)
			require.NotContains(t, text, ".Capabilities", name)
		}
		// A render must be the same with and without a cluster, and every time.
		for _, f := range []string{"lookup", "randAlpha", "uuidv4", "genCA", "genSelfSigned", "now ", "getHostByName", "htpasswd"} {
			require.NotContains(t, text, f, name)
		}
		if !strings.HasPrefix(filepath.Base(name), "_") && name != "NOTES.txt" {
			require.Regexp(t, `^\{\{- include "gpu-dra.init" \. -?\}\}`, text, name)
		}
	}
}

var settingPath = regexp.MustCompile(`\.settings\.([A-Za-z.]+)`)

// A template that reads a setting under a wrong name would find nothing, and no render would fail.
func TestTemplatesReadOnlySettingsThatExist(t *testing.T) {
	schema := schematest.Structural(t, openapi.ConfigValues)
	found := 0
	for name, text := range templates(t) {
		for _, m := range settingPath.FindAllStringSubmatch(text, -1) {
			require.True(t, declared(schema, strings.Split(m[1], ".")), "%s reads %s, which no schema declares", name, m[0])
			found++
		}
	}
	require.NotZero(t, found)
}

func declared(node *structuralschema.Structural, path []string) bool {
	for _, key := range path {
		next, ok := node.Properties[key]
		if !ok {
			return false
		}
		node = &next
	}
	return true
}
