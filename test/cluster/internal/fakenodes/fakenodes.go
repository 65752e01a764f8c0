// Package fakenodes tells kwok how fake nodes and the Pods on them behave. A node takes
// part when it carries the annotation kwok.x-k8s.io/node=fake; on it Pods become Running
// without being executed, and nothing that a kubelet does on the node (PrepareResources,
// CDI, probes, logs, the order of sidecars) happens.
package fakenodes

import (
	"bytes"
	"embed"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/layout"
)

// Annotation and Value mark a node as kwok's.
const (
	Annotation = "kwok.x-k8s.io/node"
	Value      = "fake"
)

// versionMark stands in the stages for the version that a fake kubelet reports unless the
// node's own status names one.
const versionMark = "@KUBERNETES_VERSION@"

//go:embed stages/*.yaml
var stages embed.FS

// File is kwok's configuration in a cluster's folder.
func File(dir layout.Dir) string { return filepath.Join(dir.Data("kwok"), "stages.yaml") }

// Write puts kwok's configuration into the cluster's folder.
func Write(dir layout.Dir, kubernetes string) error {
	text, err := render(kubernetes)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(File(dir)), 0o755); err != nil {
		return fmt.Errorf("kwok's folder cannot be made: %w", err)
	}
	if err := os.WriteFile(File(dir), text, 0o644); err != nil {
		return fmt.Errorf("kwok's stages cannot be written: %w", err)
	}
	return nil
}

func render(kubernetes string) ([]byte, error) {
	entries, err := stages.ReadDir("stages")
	if err != nil {
		return nil, fmt.Errorf("kwok's stages: %w", err)
	}
	var out bytes.Buffer
	for _, entry := range entries {
		text, err := stages.ReadFile("stages/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("kwok's stage %s: %w", entry.Name(), err)
		}
		out.WriteString("---\n")
		out.Write(bytes.ReplaceAll(text, []byte(versionMark), []byte("v"+kubernetes)))
	}
	return out.Bytes(), nil
}
