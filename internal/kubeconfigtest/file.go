// Package kubeconfigtest writes the kubeconfig with which tests reach an API server that they play themselves.
package kubeconfigtest

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Context is the name of the file's current and only context.
const Context = "test"

// File returns the path of a kubeconfig for the server, in a folder that goes with the test.
func File(t testing.TB, server string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	require.NoError(t, os.WriteFile(path, fmt.Appendf(nil, `apiVersion: v1
kind: Config
clusters: [{name: test, cluster: {server: %q}}]
contexts: [{name: %[2]s, context: {cluster: test}}]
current-context: %[2]s
`, server, Context), 0o600))
	return path
}
