//go:build e2e

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// What `make demo REAL_NODE=1` deploys is what these tests deploy, with what they need besides.
const demoNode = "examples/demo/real-node"

func repositoryFile(t *testing.T, path ...string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	require.NoError(t, err)
	return string(raw)
}

// tree is a mapping of a YAML file.
type tree = map[string]any

func parsed(t *testing.T, text string) tree {
	t.Helper()
	out := tree{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(text), &out))
	return out
}

// demoExporter is the exporter block of the demo's profile: the stand-in of dcgm-exporter in test/workload, which takes the variables
// and files that dcgm-exporter takes.
func demoExporter(t *testing.T) tree {
	t.Helper()
	exporter, ok := parsed(t, repositoryFile(t, demoNode, "exporter.yaml"))["exporter"].(tree)
	require.True(t, ok, "%s/exporter.yaml has no block exporter", demoNode)
	return exporter
}

// demoSettings are the demo's settings, put together as its script does, with more variables of the exporter in the sidecar.
func demoSettings(t *testing.T, variables ...tree) string {
	t.Helper()
	settings := parsed(t, repositoryFile(t, demoNode, "settings.yaml")+
		indented(repositoryFile(t, "profiles", "drivers", "example.yaml"))+repositoryFile(t, demoNode, "exporter.yaml"))
	exporter := settings["customDrivers"].([]any)[0].(tree)["exporter"].(tree)
	add(exporter["sidecar"].(tree), "env", variables...)
	text, err := yaml.Marshal(settings)
	require.NoError(t, err)
	return string(text)
}

// indented is what the demo's script does to a profile: sed 's/^/  /'.
func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}

// add appends to a list of a mapping.
func add(to tree, list string, items ...tree) {
	have, _ := to[list].([]any)
	for _, item := range items {
		have = append(have, item)
	}
	to[list] = have
}

// demoPod is the demo's pod under another name.
func demoPod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(repositoryFile(t, demoNode, "pod.yaml")), pod))
	pod.Name = name
	return pod
}
