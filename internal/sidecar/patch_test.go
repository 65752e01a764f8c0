package sidecar

import (
	"encoding/json"
	"strings"
	"testing"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// What the patch makes of the pod as the API server sent it is the pod of the verdict, with fields that we do not know.
func TestPatch(t *testing.T) {
	for name, change := range map[string]func(*Config, *Input){
		"injected":           func(*Config, *Input) {},
		"no init containers": func(_ *Config, in *Input) { in.Pod.Spec.InitContainers = nil },
		"several": func(_ *Config, in *Input) {
			in.Pod.Spec.InitContainers = append(in.Pod.Spec.InitContainers, corev1.Container{Name: "b"})
		},
		"volumes":       func(_ *Config, in *Input) { in.Pod.Spec.Volumes = []corev1.Volume{{Name: "a"}, {Name: "b"}} },
		"annotations":   func(_ *Config, in *Input) { in.Pod.Annotations = map[string]string{"a~b/c": "d"} },
		"a pull secret": func(c *Config, in *Input) { c.PullSecrets, in.Secrets = []string{"m"}, map[string]Secret{"m": {}} },
		"a second one": func(c *Config, in *Input) {
			c.PullSecrets, in.Secrets = []string{"m"}, map[string]Secret{"m": {}}
			in.Pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "n"}}
		},
		"refused": func(_ *Config, in *Input) { in.Namespace = "other" },
		"refused differently": func(_ *Config, in *Input) {
			in.Namespace = "other"
			in.Pod.Annotations = map[string]string{"gpu-dra.deckhouse.io/exporter-sidecar": "x"}
		},
	} {
		c, in := config(), input()
		change(&c, &in)
		v := Decide(c, in)
		raw, err := json.Marshal(in.Pod)
		require.NoError(t, err)
		raw = []byte(strings.Replace(string(raw), `"spec":{`, `"spec":{"new":{"in":"2030"},`, 1))
		operations, err := json.Marshal(v.Patch(in.Pod))
		require.NoError(t, err)
		patch, err := jsonpatch.DecodePatch(operations)
		require.NoError(t, err)
		patched, err := patch.Apply(raw)
		require.NoError(t, err, name)
		var got corev1.Pod
		require.NoError(t, json.Unmarshal(patched, &got))
		require.Equal(t, v.Pod, &got, name)
		require.Contains(t, string(patched), `"new":{"in":"2030"}`, name)
	}
	require.Empty(t, Verdict{}.Patch(pod()))
}
