package values

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/cli"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/kubeconfigtest"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// cluster plays the API server.
type cluster struct {
	version  string
	flags    string
	kubelets []string
	// refused are paths that are answered with Forbidden.
	refused []string
	// asked are the paths of lists, with the token of the page.
	asked []string
}

func (c *cluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if slices.Contains(c.refused, r.URL.Path) {
		w.WriteHeader(http.StatusForbidden)
		answer(w, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusFailure,
			Reason: metav1.StatusReasonForbidden, Code: http.StatusForbidden, Message: "not\nyours"})
		return
	}
	switch r.URL.Path {
	case "/version":
		answer(w, map[string]string{"major": "1", "gitVersion": c.version})
	case "/api/v1/namespaces/kube-system/pods":
		c.asked = append(c.asked, "pods "+r.URL.Query().Get("labelSelector"))
		var list corev1.PodList
		for _, name := range []string{featuregate.APIServer, featuregate.ControllerManager, featuregate.Scheduler} {
			p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name + "-a", Labels: map[string]string{"component": name}}}
			p.Spec.Containers = []corev1.Container{{Name: name, Image: "registry.k8s.io/" + name + ":" + c.version, Command: []string{name, c.flags}}}
			list.Items = append(list.Items, p)
		}
		answer(w, list)
	case "/api/v1/nodes":
		// A page for each node.
		at := 0
		_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &at)
		c.asked = append(c.asked, fmt.Sprint("nodes ", at))
		var list corev1.NodeList
		if at < len(c.kubelets) {
			var n corev1.Node
			n.Status.NodeInfo.KubeletVersion = c.kubelets[at]
			list.Items = append(list.Items, n)
		}
		if at+1 < len(c.kubelets) {
			list.Continue = fmt.Sprint(at + 1)
		}
		answer(w, list)
	default:
		http.NotFound(w, r)
	}
}

func answer(w http.ResponseWriter, object any) { _ = json.NewEncoder(w).Encode(object) }

func (c *cluster) values(t *testing.T, args ...string) (string, error) {
	t.Helper()
	server := httptest.NewServer(c)
	t.Cleanup(server.Close)
	command := New()
	command.SilenceErrors, command.SilenceUsage = true, true
	var out bytes.Buffer
	command.SetOut(&out)
	command.SetArgs(append([]string{"--kubeconfig", kubeconfigtest.File(t, server.URL)}, args...))
	err := command.ExecuteContext(t.Context())
	// What is printed can always be given to Helm.
	if err == nil {
		_, parseErr := settings.Parse(out.Bytes())
		require.NoError(t, parseErr, out.String())
	}
	return out.String(), err
}

func TestValues(t *testing.T) {
	c := &cluster{version: "v1.36.3", flags: "--feature-gates=DRAExtendedResource=false", kubelets: []string{"v1.36.3", "v1.36.1"}}
	got, err := c.values(t)
	require.NoError(t, err)
	require.Equal(t, `cluster:
  featureGates:
    DRAAdminAccess: true
    DRADeviceTaints: true
    DRAExtendedResource: false
  kubernetesVersion: v1.36.3
`, got)
	require.Equal(t, []string{"pods component", "nodes 0", "nodes 1"}, c.asked)
}

func TestWhatIsNotKnownIsSaid(t *testing.T) {
	for name, c := range map[string]struct {
		cluster *cluster
		gates   map[string]bool
		said    []string
	}{
		"kubelets may have it or not": {&cluster{version: "v1.34.4", flags: "--feature-gates=DRAExtendedResource=true", kubelets: []string{"v1.34.4"}},
			map[string]bool{"DRAAdminAccess": true, "DRADeviceTaints": false}, []string{"\n# Not known:\n# DRAExtendedResource: ", "kubelet v1.34.4"}},
		"no pods": {&cluster{version: "v1.34.4", kubelets: []string{"v1.34.4"}, refused: []string{"/api/v1/namespaces/kube-system/pods"}},
			nil, []string{"# DRADeviceTaints: not known: no kube-apiserver was seen", "\n# The control plane's pods could not be read: not yours"}},
		"no nodes": {&cluster{version: "v1.36.3", refused: []string{"/api/v1/nodes"}},
			map[string]bool{"DRAAdminAccess": true, "DRADeviceTaints": true}, []string{"# DRAExtendedResource: ", "\n# The nodes could not be read: not yours"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := c.cluster.values(t)
			require.NoError(t, err)
			for _, want := range c.said {
				require.Contains(t, got, want)
			}
			var out struct{ Cluster settings.Cluster }
			require.NoError(t, yaml.UnmarshalStrict([]byte(got), &out))
			require.Equal(t, c.cluster.version, out.Cluster.KubernetesVersion)
			if c.gates == nil {
				require.Empty(t, out.Cluster.FeatureGates)
			} else {
				require.Equal(t, c.gates, out.Cluster.FeatureGates)
			}
		})
	}
}

func TestRefused(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		code int
		said string
	}{
		"no such distribution": {[]string{"--distribution", "vanilla"}, cli.ExitUsage, `--distribution: found "vanilla", expected Deckhouse, Rosa or Vanilla`},
		"no such context":      {[]string{"--context", "nowhere"}, 1, "nowhere"},
	} {
		_, err := (&cluster{version: "v1.34.4"}).values(t, c.args...)
		require.ErrorContains(t, err, c.said, name)
		require.Equal(t, c.code, cli.ExitCode(err), name)
	}
	for said, c := range map[string]*cluster{
		"version of the API server: ":                        {refused: []string{"/version"}},
		`found "", expected Kubernetes 1.34 or newer`:        {},
		`found "v1.33.9", expected Kubernetes 1.34 or newer`: {version: "v1.33.9"},
	} {
		_, err := c.values(t)
		require.ErrorContains(t, err, said)
		require.Equal(t, cli.ExitFailed, cli.ExitCode(err))
	}
}

// The chart looks at the gates that are printed, and at no other.
func TestGatesAreThoseOfTheChart(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join("..", "..", "..", "templates", "_settings.tpl"))
	require.NoError(t, err)
	var read []string
	for _, m := range regexp.MustCompile(`\$said\.featureGates "(\w+)"`).FindAllStringSubmatch(string(raw), -1) {
		read = append(read, m[1])
	}
	slices.Sort(read)
	require.Equal(t, featuregate.Rendered, slices.Compact(read))
}
