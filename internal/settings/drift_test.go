package settings

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/gpu-dra/gpu-dra/internal/schematest"
)

// The Go types and the schema have the same keys at every depth: a profile field that the schema does not know could not be
// written in customDrivers, and a setting that the types do not know would not reach the hash.
func TestTypesMirrorTheSchema(t *testing.T) {
	s, err := loadSchema()
	require.NoError(t, err)
	schematest.Mirror(t, reflect.TypeFor[Settings](), s.structural, "settings")
}

// foreignCondition of a plugin is for exporters, or the other way round: one shape serves both.
var foreignCondition = regexp.MustCompile(`\.plugin\..*\.when\.(profiling|adminClaim)$|\.exporter\..*\.when\.(gate|computeDomains|since)$`)

// The full example has every setting, so that tests which walk it walk the whole schema.
func TestFullExampleHasEverySetting(t *testing.T) {
	s, err := loadSchema()
	require.NoError(t, err)
	object, err := decode(readFile(t, "testdata/full.yaml"))
	require.NoError(t, err)
	used := map[string]bool{}
	var walk func(value any, node *structuralschema.Structural, path string)
	walk = func(value any, node *structuralschema.Structural, path string) {
		used[path] = true
		switch v := value.(type) {
		case map[string]any:
			for k, x := range v {
				if sub := child(node, k); sub != nil {
					if _, declared := node.Properties[k]; !declared {
						k = "*"
					}
					walk(x, sub, path+"."+k)
				}
			}
		case []any:
			for _, x := range v {
				walk(x, node.Items, path+"[]")
			}
		}
	}
	walk(object, s.structural, "")
	var all func(node *structuralschema.Structural, path string)
	all = func(node *structuralschema.Structural, path string) {
		switch {
		case strings.Contains(path, ".driverOverrides.*.") || path == ".customDrivers[].memory.capacity" || foreignCondition.MatchString(path):
			// The same shape as drivers.*, one of two that exclude each other, and conditions that only the other of the two has.
			return
		case !used[path]:
			t.Errorf("testdata/full.yaml lacks %s", path)
		}
		for k, p := range node.Properties {
			all(&p, path+"."+k)
		}
		if node.Items != nil {
			all(node.Items, path+"[]")
		}
	}
	all(s.structural, "")
}
