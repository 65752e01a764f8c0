package source

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/kubeconfigtest"
)

const header = "apiVersion: gpu-dra.deckhouse.io/v1alpha1\nkind: GPUStack\nmetadata: {name: main}\n"

func TestFromFile(t *testing.T) {
	const other = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\n"
	for name, text := range map[string]string{
		"alone":     header + "status: {kubernetesVersion: v1.34.4}",
		"document":  other + "---\n" + header + "status: {kubernetesVersion: v1.34.4}",
		"list":      "kind: List\napiVersion: v1\nitems:\n- {kind: Pod}\n- {apiVersion: gpu-dra.deckhouse.io/v1alpha1, kind: GPUStack, metadata: {name: main}, status: {kubernetesVersion: v1.34.4}}",
		"JSON list": `{"kind":"GPUStackList","items":[{"apiVersion":"gpu-dra.deckhouse.io/v1alpha1","kind":"GPUStack","metadata":{"name":"main"},"status":{"kubernetesVersion":"v1.34.4"}}]}`,
	} {
		path := filepath.Join(t.TempDir(), "f")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		for _, wanted := range []string{"", "main"} {
			for _, file := range []string{"-", path} {
				var s v1alpha1.GPUStack
				require.NoError(t, GPUStack.FromFile(file, strings.NewReader(text), wanted, &s), name)
				require.Equal(t, "v1.34.4", s.Status.KubernetesVersion, name)
			}
		}
	}
}

func TestWhatIsWrongWithAFile(t *testing.T) {
	for text, want := range map[string]string{
		"":     "standard input: found no GPUStack \"main\"; `kubectl get gpustacks -o yaml` prints it",
		"a: [": "standard input, document 1: ",
		"kind: Pod\napiVersion: v1\nmetadata: {name: p}\n":                `found no GPUStack "main", but "Pod" "p" of "v1"; `,
		"kind: GPUStack\napiVersion: v1\nmetadata: {name: main}\n":        `standard input, document 1, GPUStack "main": apiVersion: found "v1", expected gpu-dra.deckhouse.io/v1alpha1`,
		"kind: List\napiVersion: v1\nitems: []\n":                         `found no GPUStack "main", but an empty list; `,
		"kind: List\nitems: [{kind: GPUStack, metadata: {name: main}}]\n": `apiVersion: found null, expected`,
		"[1, 2]": "standard input, document 1: found [1,2], expected an object as kubectl prints it",
		"none":   `standard input, document 1: found "none", expected an object`,
		// The field, what is there, and what is expected: also in lists and in types that read themselves.
		header + "status: {kubernetesVersion: 1.34}":                                                   `GPUStack "main": status.kubernetesVersion: found 1.34, expected a text`,
		header + "status: {synced: 'yes'}":                                                             `status.synced: found "yes", expected true or false`,
		header + "status: {heartbeat: 5}":                                                              `status.heartbeat: found 5, expected a time such as`,
		header + "status: {heartbeat: today}":                                                          `status.heartbeat: found "today", expected a time such as`,
		header + "status: {kubeletVersions: 3}":                                                        `status.kubeletVersions: found 3, expected a list`,
		header + "status: {kubeletVersions: [{version: a, count: 1}, {count: many}]}":                  `status.kubeletVersions[1].count: found "many", expected a whole number`,
		header + "status: {kubeletVersions: [{count: 1.5}]}":                                           `status.kubeletVersions[0].count: found 1.5, expected a whole number`,
		header + "status: {featureGates: [A]}":                                                         `status.featureGates: found ["A"], expected a map`,
		header + "status: {featureGates: {instances: [{set: {B: true, A: 1}}]}}":                       `status.featureGates.instances[0].set.A: found 1, expected true or false`,
		header + "status: {conditions: [{lastTransitionTime: [" + strings.Repeat("1, ", 100) + "1]}]}": `status.conditions[0].lastTransitionTime: found [1,1,`,
	} {
		err := GPUStack.FromFile("-", strings.NewReader(text), "main", &v1alpha1.GPUStack{})
		require.ErrorContains(t, err, want, text)
		require.NotContains(t, err.Error(), "json:")
		require.Less(t, len(err.Error()), 300)
	}
	require.ErrorContains(t, GPUStack.FromFile("/nowhere", nil, "main", &v1alpha1.GPUStack{}), "/nowhere: no such file")
}

// A file that never ends must not fill the memory.
func TestAnEndlessFile(t *testing.T) {
	err := GPUStack.FromFile("-", endless{}, "main", &v1alpha1.GPUStack{})
	require.ErrorContains(t, err, "standard input: found more than 64 MiB, expected what kubectl prints of GPUStacks")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = '#'
	}
	return len(p), nil
}

func TestFromACluster(t *testing.T) {
	var lists []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/apis/gpu-dra.deckhouse.io/v1alpha1/gpustacks/main":
			_, _ = fmt.Fprintf(w, `{"apiVersion":%q,"kind":"GPUStack","metadata":{"name":"main"},"status":{"kubernetesVersion":"v1.34.4"}}`, v1alpha1.GroupVersion)
		case "/apis/gpu-dra.deckhouse.io/v1alpha1/gpustacks/odd":
			_, _ = fmt.Fprintf(w, `{"apiVersion":%q,"kind":"GPUStack","metadata":{"name":"odd"},"status":{"kubernetesVersion":5}}`, v1alpha1.GroupVersion)
		case "/apis/gpu-dra.deckhouse.io/v1alpha1/gpunodes":
			lists = append(lists, r.URL.Query().Get("limit")+" "+r.URL.Query().Get("continue"))
			more := `"continue":"next"`
			if r.URL.Query().Get("continue") != "" {
				more = `"resourceVersion":"1"`
			}
			_, _ = fmt.Fprintf(w, `{"apiVersion":%q,"kind":"GPUNodeList","metadata":{%s},"items":[{"apiVersion":%[1]q,"kind":"GPUNode","metadata":{"name":"n%[3]d"}}]}`,
				v1alpha1.GroupVersion, more, len(lists))
		default:
			w.WriteHeader(http.StatusForbidden)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Message: "not yours", Reason: metav1.StatusReasonForbidden, Code: 403})
		}
	}))
	defer server.Close()
	config, err := Config(kubeconfigtest.File(t, server.URL), "")
	require.NoError(t, err)
	require.Equal(t, timeout, config.Timeout)
	ctx := context.Background()

	var s v1alpha1.GPUStack
	ok, err := GPUStack.FromCluster(ctx, config, "main", &s)
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, "v1.34.4", s.Status.KubernetesVersion)
	_, err = GPUStack.FromCluster(ctx, config, "odd", &s)
	require.EqualError(t, err, "GPUStack odd: status.kubernetesVersion: found 5, expected a text")
	_, err = GPUNodeGroup.FromCluster(ctx, config, "a", &v1alpha1.GPUNodeGroup{})
	require.ErrorContains(t, err, "GPUNodeGroup a: not yours")

	var names []string
	require.NoError(t, GPUNode.Each(ctx, config, func(o unstructured.Unstructured) error {
		names = append(names, o.GetName())
		return nil
	}))
	require.Equal(t, []string{"n1", "n2"}, names)
	require.Equal(t, []string{"500 ", "500 next"}, lists)

	_, err = Config(kubeconfigtest.File(t, server.URL), "none")
	require.ErrorContains(t, err, `context "none" does not exist`)
}
