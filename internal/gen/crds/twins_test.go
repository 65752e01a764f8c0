package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

const dir = "../../../crds"

func crds(t *testing.T) map[string]*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "gpu*.yaml"))
	require.NoError(t, err)
	require.Len(t, files, 4)
	out := map[string]*apiextensionsv1.CustomResourceDefinition{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		require.NoError(t, err)
		crd := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, yaml.UnmarshalStrict(data, crd), f)
		out[filepath.Base(f)] = crd
	}
	return out
}

func TestLabels(t *testing.T) {
	for name, crd := range crds(t) {
		require.Equal(t, map[string]string{"heritage": "deckhouse", "module": "gpu-dra"}, crd.Labels, name)
		require.Equal(t, crd.Spec.Names.Plural+".yaml", name)
	}
}

// doc-ru files hold a Russian description for each English one, and nothing else.
func TestEveryDescriptionHasItsRussianTwin(t *testing.T) {
	for name, crd := range crds(t) {
		data, err := os.ReadFile(filepath.Join(dir, "doc-ru-"+name))
		require.NoError(t, err)
		twin := &apiextensionsv1.CustomResourceDefinition{}
		require.NoError(t, yaml.UnmarshalStrict(data, twin), name)
		require.Len(t, twin.Spec.Versions, len(crd.Spec.Versions))
		for i, v := range crd.Spec.Versions {
			require.Equal(t, v.Name, twin.Spec.Versions[i].Name)
			compare(t, v.Schema.OpenAPIV3Schema, twin.Spec.Versions[i].Schema.OpenAPIV3Schema, name, 0)
		}
	}
}

func compare(t *testing.T, en, ru *apiextensionsv1.JSONSchemaProps, path string, depth int) {
	t.Helper()
	if ru == nil {
		ru = &apiextensionsv1.JSONSchemaProps{}
	}
	russian := strings.ContainsFunc(ru.Description, func(r rune) bool { return unicode.Is(unicode.Cyrillic, r) })
	require.Equal(t, en.Description != "", russian, "%s: described in one language only", path)
	for k := range ru.Properties {
		require.Contains(t, en.Properties, k, path)
	}
	for k, p := range en.Properties {
		if depth == 0 && (k == "apiVersion" || k == "kind" || k == "metadata") {
			continue // Kubernetes' own, described in its own documentation.
		}
		sub := ru.Properties[k]
		compare(t, &p, &sub, path+"."+k, depth+1)
	}
	if en.Items != nil && en.Items.Schema != nil {
		var sub *apiextensionsv1.JSONSchemaProps
		if ru.Items != nil {
			sub = ru.Items.Schema
		}
		compare(t, en.Items.Schema, sub, path+"[]", depth+1)
	}
}
