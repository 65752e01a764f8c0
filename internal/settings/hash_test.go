package settings

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"
)

// What the user wrote, and the same as addon-operator hands it to hooks: defaults filled in at the top, other keys beside it.
func TestHashIsTheSameFromBothSources(t *testing.T) {
	written, err := os.ReadFile("testdata/full.yaml")
	require.NoError(t, err)
	for name, in := range map[string]string{
		"nothing": "{}",
		"small":   "nodeGroups: [{name: a, drivers: [nvidia]}]\nclaimTemplates: [{name: t, driver: nvidia, namespaces: [x], minMemory: 16384Mi}]",
		"full":    string(written),
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Parse([]byte(in))
			require.NoError(t, err)

			values := map[string]any{}
			filled, err := json.Marshal(s)
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal(filled, &values))
			values["internal"] = map[string]any{"cluster": map[string]any{"observed": true}}
			values["registry"] = map[string]any{"base": "registry.local"}
			values["global"] = map[string]any{}
			raw, err := json.Marshal(values)
			require.NoError(t, err)
			again, err := FromValues(raw)
			require.NoError(t, err)
			require.Equal(t, Hash(s), Hash(again))
			require.Len(t, Hash(s), 32)

			_, err = Parse(raw)
			require.ErrorContains(t, err, "internal: unknown key", "what is no setting is refused where a user writes")
		})
	}
}

func TestHashTellsMeaningsApart(t *testing.T) {
	hash := func(in string) string {
		s, err := Parse([]byte(in))
		require.NoError(t, err, in)
		return Hash(s)
	}
	require.Equal(t, hash("{}"), hash("exporter: {mode: DaemonSet, interval: 30s}\nnodeGroups: []"))
	require.Equal(t, hash("exporter: {interval: 60s}"), hash("exporter: {interval: 1m}"))
	require.Equal(t, hash("memoryReservation: {systemNeed: 4Gi}"), hash("memoryReservation: {systemNeed: 4096Mi}"))
	require.NotEqual(t, hash("{}"), hash("exporter: {interval: 31s}"))
	require.NotEqual(t, hash("nodeGroups: [{name: a, drivers: [b, c]}]"), hash("nodeGroups: [{name: a, drivers: [c, b]}]"))
}

// Every setting reaches the hash: taking any one key out of the full example changes it or is refused.
func TestEverySettingReachesTheHash(t *testing.T) {
	written, err := os.ReadFile("testdata/full.yaml")
	require.NoError(t, err)
	full, err := Parse(written)
	require.NoError(t, err)
	var tree map[string]any
	require.NoError(t, yaml.Unmarshal(written, &tree))
	var walk func(node any, path string)
	walk = func(node any, path string) {
		switch n := node.(type) {
		case map[string]any:
			for k, v := range n {
				walk(v, join(path, k))
				delete(n, k)
				data, err := yaml.Marshal(tree)
				require.NoError(t, err)
				if s, err := Parse(data); err == nil && Hash(s) == Hash(full) {
					t.Errorf("%s: without it the hash is the same", join(path, k))
				}
				n[k] = v
			}
		case []any:
			for _, v := range n {
				walk(v, path+"[]")
			}
		}
	}
	walk(tree, "")
}
