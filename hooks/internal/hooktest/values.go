package hooktest

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/deckhouse/module-sdk/testing/framework"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// Values returns the values of a run as JSON: the settings with the defaults of the module's openapi folder under them, in the
// section gpuDra, where hooks find them. (The SDK's WithOpenAPIDir puts the defaults at the root.) root is the repository.
func Values(t testing.TB, root, settings string) string {
	t.Helper()
	schema, err := framework.LoadOpenAPISchema(filepath.Join(root, "openapi", "values.yaml"))
	require.NoError(t, err)
	var own map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(settings), &own))
	section := framework.MergeValues(framework.SchemaDefaults(schema), own)
	data, err := json.Marshal(map[string]any{"global": map[string]any{}, "gpuDra": section})
	require.NoError(t, err)
	return string(data)
}
