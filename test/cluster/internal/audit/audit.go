// Package audit makes the API server write down what ServiceAccounts ask of it, so that a
// test can compare the rights a chart gives with the rights that are used.
package audit

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/layout"
)

// policy leaves out everybody but ServiceAccounts outside kube-system: administrators and
// the control plane ask far more often, and nobody looks at their rights here.
const policy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
  userGroups: ["system:serviceaccounts"]
- level: None
`

// Policy is the policy's file in a cluster's folder.
func Policy(dir layout.Dir) string { return filepath.Join(dir.Data("kube-apiserver"), "audit.yaml") }

// Log is the file with one JSON event a line.
func Log(dir layout.Dir) string { return dir.Log("audit") }

// Write puts the policy into the cluster's folder.
func Write(dir layout.Dir) error {
	if err := os.MkdirAll(filepath.Dir(Policy(dir)), 0o755); err != nil {
		return fmt.Errorf("the folder of the audit policy cannot be made: %w", err)
	}
	if err := os.WriteFile(Policy(dir), []byte(policy), 0o644); err != nil {
		return fmt.Errorf("the audit policy cannot be written: %w", err)
	}
	return nil
}
