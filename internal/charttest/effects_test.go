package charttest

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"

	"github.com/gpu-dra/gpu-dra/internal/schematest"
	"github.com/gpu-dra/gpu-dra/openapi"
)

// Who reads a setting. The whole of the settings stands in the controller's file; that alone is no effect.
const (
	byChart = "chart"
	// Where the chart reads it as well, the tree of TestSettingsOfTheChartHaveAnEffect cannot show it. elsewhere names the test that does.
	byController = "controller and hooks"
	// What the chart only refuses settings by; the tests in checks_*_test.go show each.
	byChecks = "checks of the chart"
)

// readers by the beginning of a path; the longest that fits holds.
var readers = map[string]string{
	"distribution":                                   byChart,
	"imageRegistry":                                  byChart,
	"imagePullSecrets":                               byChart,
	"nodeGroups":                                     byChart,
	"nodeGroups[].expectedDevices":                   byController,
	"nodeGroups[].memoryReservation":                 byController,
	"drivers":                                        byChart,
	"customDrivers":                                  byController,
	"customDrivers[].name":                           byChart,
	"customDrivers[].driverName":                     byChart,
	"customDrivers[].otherDrivers":                   byChart,
	"customDrivers[].classes[].name":                 byChart,
	"customDrivers[].classes[].expression":           byChart,
	"customDrivers[].classes[].extendedResourceName": byChart,
	"customDrivers[].pluginResources":                byChart,
	"customDrivers[].managers[].api":                 byChart,
	"customDrivers[].managers[].nodeLabel":           byChart,
	"customDrivers[].managers[].nodeLabelValues":     byChart,
	"customDrivers[].gates":                          byChart,
	"customDrivers[].gates[].since":                  byChecks,
	"customDrivers[].gates[].excludes":               byChecks,
	"customDrivers[].gates[].requires":               byChecks,
	"customDrivers[].plugin":                         byChart,
	"customDrivers[].plugin.kubeletRoot":             byChecks,
	"customDrivers[].plugin.logLevels":               byChecks,
	"cluster":                                        byChart,
	"deviceClasses":                                  byChart,
	"deviceClasses.create":                           byController,
	"deviceClasses.extendedResources":                byController,
	"claimTemplates":                                 byChart,
	"memoryReservation":                              byController,
	"kubernetesFeatureGates":                         byController,
	"customDrivers[].exporter":                       byChart,
	"customDrivers[].exporter.minVersion":            byChecks,
	"customDrivers[].exporter.capabilities[].reason": byChecks,
	"customDrivers[].exporter.adminClaim.otherwise":  byController,
	"customDrivers[].exporter.sidecar":               byController,
	"exporter":                                       byChart,
	"exporter.mode":                                  byController,
	"exporter.sidecar":                               byController,
	"monitoring":                                     byChart,
	"controller":                                     byChart,
	"controller.image.digest":                        byController,
	"controller.webhook":                             byController,
}

// foreignCondition of a plugin is for exporters, or the other way round: one shape serves both, and the checks refuse it. The claim
// is there for all exporters or for none: TestExporterAndItsClaim shows both.
var foreignCondition = regexp.MustCompile(`\.plugin\..*\.when\.profiling$|\.when\.adminClaim$|\.exporter\..*\.when\.(gate|computeDomains|since)$`)

// passedOver in a sidecar: no condition is ever met there, and its requests follow from the class of the pod.
var passedOver = regexp.MustCompile(`\.exporter\.sidecar\.(env\[\]\.when\.|resources\.requests$)`)

func readerOf(path string) (prefix, reader string) {
	if foreignCondition.MatchString(path) || passedOver.MatchString(path) {
		return "", byChecks
	}
	for p, r := range readers {
		rest, ok := strings.CutPrefix(path, p)
		if ok && (rest == "" || rest[0] == '.' || rest[0] == '[') && len(p) > len(prefix) {
			prefix, reader = p, r
		}
	}
	return prefix, reader
}

// leafPaths are the settings that hold no others, `[]` for list items and `*` for map values.
func leafPaths(node *structuralschema.Structural, path string, out map[string]bool) {
	switch {
	case len(node.Properties) > 0:
		for k, p := range node.Properties {
			leafPaths(&p, strings.TrimPrefix(path+"."+k, "."), out)
		}
	case node.Items != nil && len(node.Items.Properties) > 0:
		leafPaths(node.Items, path+"[]", out)
	case node.AdditionalProperties != nil && node.AdditionalProperties.Structural != nil && len(node.AdditionalProperties.Structural.Properties) > 0:
		leafPaths(node.AdditionalProperties.Structural, path+".*", out)
	default:
		out[path] = true
	}
}

// A setting that does nothing would stand here without a reader.
func TestEverySettingHasItsReader(t *testing.T) {
	leaves := map[string]bool{}
	leafPaths(schematest.Structural(t, openapi.ConfigValues), "", leaves)
	used := map[string]bool{}
	for path := range leaves {
		prefix, reader := readerOf(path)
		require.NotEmpty(t, reader, "%s: say in readers who reads it", path)
		used[prefix] = true
	}
	for prefix := range readers {
		require.True(t, used[prefix], "%s is no setting, or a longer entry covers all of it", prefix)
	}
}

// Leaving out any setting that the chart reads changes an object (the controller's file aside) or the notes, or is refused.
func TestSettingsOfTheChartHaveAnEffect(t *testing.T) {
	t.Parallel()
	chart, err := Load()
	require.NoError(t, err)
	tree := settingsFile(t, filepath.Join("testdata", "effects.yaml"))
	render := func() (string, error) {
		documents, notes, err := Render(chart, Options{Values: tree, KubeVersion: "v1.37.2"})
		out := []string{notes}
		for _, d := range documents {
			if !strings.Contains(d, "kind: ConfigMap\nmetadata:\n  name: controller-config\n") {
				out = append(out, checksum.ReplaceAllString(d, ""))
			}
		}
		return strings.Join(out, "---\n"), err
	}
	full, err := render()
	require.NoError(t, err)
	schema := schematest.Structural(t, openapi.ConfigValues)
	seen := map[string]bool{}
	var walk func(value any, node *structuralschema.Structural, path string)
	walk = func(value any, node *structuralschema.Structural, path string) {
		switch v := value.(type) {
		case map[string]any:
			for k, x := range v {
				next, at := below(node, k, path)
				walk(x, next, at)
				seen[at] = true
				if _, reader := readerOf(at); reader != byChart {
					continue
				}
				delete(v, k)
				if without, err := render(); err == nil && without == full {
					t.Errorf("%s: without %s every object is the same", at, k)
				}
				v[k] = x
			}
		case []any:
			for _, x := range v {
				walk(x, node.Items, path+"[]")
			}
		}
	}
	walk(tree, schema, "")
	leaves := map[string]bool{}
	leafPaths(schema, "", leaves)
	for path := range leaves {
		if _, reader := readerOf(path); reader == byChart {
			require.True(t, seen[path], "testdata/effects.yaml lacks %s", path)
		}
	}
}

// below is the schema of a key and its path, as leafPaths writes it.
func below(node *structuralschema.Structural, key, path string) (*structuralschema.Structural, string) {
	if node == nil {
		return nil, path + "." + key
	}
	if p, ok := node.Properties[key]; ok {
		return &p, strings.TrimPrefix(path+"."+key, ".")
	}
	if values := node.AdditionalProperties; values != nil && values.Structural != nil && len(values.Structural.Properties) > 0 {
		return values.Structural, path + ".*"
	}
	return nil, path + "." + key
}
