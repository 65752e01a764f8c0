package plan

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/kubeconfigtest"
)

// nodesAPI is an API server with a GPUStack, its GPUNodes, and kubelets behind it.
type nodesAPI struct {
	stack *v1alpha1.GPUStack
	nodes []v1alpha1.GPUNode
	// hidden: nobody may list the nodes.
	hidden bool
	// configz answers for a node.
	configz func(w http.ResponseWriter, node string)
	asked   atomic.Int32
	// atOnce is how many are asked, most how many were at one time.
	atOnce, most atomic.Int32
}

func (a *nodesAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	const root = "/apis/gpu-dra.deckhouse.io/v1alpha1/"
	node, isProxy := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/")
	node, isConfigz := strings.CutSuffix(node, "/proxy/configz")
	switch {
	case r.URL.Path == root+"gpustacks/main":
		_ = json.NewEncoder(w).Encode(a.stack)
	case r.URL.Path == root+"gpunodes" && a.hidden:
		failure(w, http.StatusForbidden, metav1.StatusReasonForbidden, `User "me" cannot list resource "gpunodes"`)
	case r.URL.Path == root+"gpunodes":
		_ = json.NewEncoder(w).Encode(v1alpha1.GPUNodeList{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUNodeList"}, Items: a.nodes})
	case isProxy && isConfigz:
		a.asked.Add(1)
		if now := a.atOnce.Add(1); now > a.most.Load() {
			a.most.Store(now)
		}
		defer a.atOnce.Add(-1)
		a.configz(w, node)
	default:
		failure(w, http.StatusNotFound, metav1.StatusReasonNotFound, "no such thing")
	}
}

func failure(w http.ResponseWriter, code int32, reason metav1.StatusReason, message string) {
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: reason, Message: message, Code: code})
}

// withNodes makes the status one of a cluster of 1.35 with these nodes in a listed group, and one in none.
func withNodes(t *testing.T, count int, configz func(w http.ResponseWriter, node string)) *nodesAPI {
	t.Helper()
	a := &nodesAPI{stack: status(t, "Vanilla"), configz: configz}
	s := &a.stack.Status
	s.KubernetesVersion, s.KubeletVersions = "v1.35.4", []v1alpha1.VersionCount{{Version: "v1.35.4", Count: int32(count)}}
	for i := range s.FeatureGates.Instances {
		s.FeatureGates.Instances[i].Version, s.FeatureGates.Instances[i].Set = "v1.35.4", map[string]bool{"DRAExtendedResource": true, "DRAPartitionableDevices": true}
	}
	s.FeatureGates.Conflicts = nil
	for i := range count + 1 {
		n := v1alpha1.GPUNode{TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUNode"}, ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("n%03d", i)},
			Status: v1alpha1.GPUNodeStatus{Runtime: &v1alpha1.NodeRuntime{KubeletVersion: "v1.35.4"}, Groups: []string{"gpu"}}}
		if i == count {
			n.Name, n.Status.Groups = "unlisted", nil
		}
		a.nodes = append(a.nodes, n)
	}
	return a
}

func (a *nodesAPI) plan(t *testing.T, args ...string) (string, error) {
	t.Helper()
	server := httptest.NewServer(a)
	defer server.Close()
	return run(t, "", append([]string{"--kubeconfig", kubeconfigtest.File(t, server.URL)}, args...)...)
}

func TestKubeletsAreAskedForTheirConfiguration(t *testing.T) {
	a := withNodes(t, 3, func(w http.ResponseWriter, node string) {
		set := map[string]string{"n000": `{"DRAExtendedResource":true,"CRDSensitiveData":true}`, "n001": `{"DRAExtendedResource":true}`, "n002": `{"SidecarContainers":true}`}[node]
		_, _ = fmt.Fprintf(w, `{"kubeletconfig":{"featureGates":%s}}`, set)
	})
	without, err := a.plan(t)
	require.NoError(t, err)
	require.Zero(t, a.asked.Load(), "nobody asked for it")
	require.Contains(t, without, "  DRAExtendedResource: not known, needed by deviceClasses.extendedResources\n"+
		"    kubelet v1.35.4 on 3 node(s): set DRAExtendedResource=true (off by default in 1.35, and its own configuration can't be seen)\n")
	require.Contains(t, without, "Of kubelets only the version is known; with --kubelets their configuration is looked at too.")

	got, err := a.plan(t, "--kubelets")
	require.NoError(t, err)
	require.EqualValues(t, 3, a.asked.Load(), "those of listed groups")
	require.Contains(t, got, "  DRAExtendedResource: off, needed by deviceClasses.extendedResources\n    kubelet v1.35.4 on 1 node(s) (n002): set DRAExtendedResource=true (off by default in 1.35)\n")
	const shown = `
Gates that kubelets set, as they say themselves:
  kubelet v1.35.4 on 2 node(s) (n000, n001): DRAExtendedResource=true
  kubelet v1.35.4 on 1 node(s) (n002): SidecarContainers=true
`
	require.Contains(t, got, shown)
	for _, page := range []string{"feature-gates.md", "feature-gates.ru.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", page))
		require.NoError(t, err)
		require.Contains(t, string(text), "```"+shown+"```\n", page)
	}
	require.Contains(t, got, "  1.37 STOPS SidecarContainers kubelet (n002): 1.37 does not have this gate any more")
	require.NotContains(t, got, "only the version is known")

	a.configz = func(w http.ResponseWriter, _ string) {
		_, _ = fmt.Fprint(w, `{"kubeletconfig":{"featureGates":{"DRAExtendedResource":true}}}`)
	}
	got, err = a.plan(t, "--kubelets", "-o", "yaml")
	require.NoError(t, err)
	var d document
	require.NoError(t, yaml.UnmarshalStrict([]byte(got), &d))
	require.Equal(t, metav1.ConditionTrue, d.FeatureGates.Needed[0].State, "%+v", d.FeatureGates.Needed[0])
	require.Empty(t, d.KubeletsUnread)
	require.Equal(t, v1alpha1.ComponentInstance{Component: "kubelet", Name: "n000", Version: "v1.35.4", Set: map[string]bool{"DRAExtendedResource": true}}, d.FeatureGates.Instances[3])
}

// Who may not ask is told so, and has the rest of the plan.
func TestKubeletsWithoutTheRight(t *testing.T) {
	a := withNodes(t, 300, func(w http.ResponseWriter, node string) {
		failure(w, http.StatusForbidden, metav1.StatusReasonForbidden, `nodes "`+node+`" is forbidden: User "me" cannot get resource "nodes/proxy"`)
	})
	got, err := a.plan(t, "--kubelets")
	require.NoError(t, err)
	require.Less(t, a.asked.Load(), int32(300), "the others would refuse alike")
	require.Contains(t, got, "  300 of 300 kubelets could not be read: nodes \"n")
	require.Contains(t, got, `cannot get resource "nodes/proxy": it takes the right to get nodes/proxy`)
	require.Contains(t, got, "kubelet v1.35.4 on 300 node(s): set DRAExtendedResource=true (off by default in 1.35, and its own configuration can't be seen)")
}

func TestNodesThatNobodyMayList(t *testing.T) {
	a := withNodes(t, 3, nil)
	a.hidden = true
	got, err := a.plan(t, "--kubelets")
	require.NoError(t, err)
	require.Contains(t, got, "\n  kubelets could not be looked for: GPUNodes: User \"me\" cannot list resource \"gpunodes\"\n")
	require.Contains(t, got, "kubelet v1.35.4 on 3 node(s): set DRAExtendedResource=true")
	a = withNodes(t, 0, nil)
	got, err = a.plan(t, "--kubelets")
	require.NoError(t, err)
	require.Contains(t, got, "\n  no kubelet of a listed node group was seen\n")
}

func TestSomeKubeletsDoNotAnswer(t *testing.T) {
	a := withNodes(t, 3, func(w http.ResponseWriter, node string) {
		switch node {
		case "n000":
			_, _ = fmt.Fprint(w, `{"kubeletconfig":{"featureGates":{"DRAExtendedResource":true}}}`)
		case "n001":
			failure(w, http.StatusServiceUnavailable, metav1.StatusReasonServiceUnavailable, "error trying to reach service")
		default:
			_, _ = fmt.Fprint(w, strings.Repeat(" ", maxConfigz+1))
		}
	})
	got, err := a.plan(t, "--kubelets")
	require.NoError(t, err)
	require.Contains(t, got, "  kubelet v1.35.4 on 1 node(s) (n000): DRAExtendedResource=true\n  2 of 3 kubelets could not be read: node n001: ")
	require.Contains(t, got, "kubelet v1.35.4 on 2 node(s): set DRAExtendedResource=true (off by default in 1.35, and its own configuration can't be seen)")
}

// A large cluster is asked in part, and not all at once.
func TestKubeletsAreAskedWithinBounds(t *testing.T) {
	a := withNodes(t, maxKubelets+50, func(w http.ResponseWriter, _ string) {
		time.Sleep(time.Millisecond)
		_, _ = fmt.Fprint(w, `{"kubeletconfig":{"featureGates":{"DRAExtendedResource":true}}}`)
	})
	got, err := a.plan(t, "--kubelets")
	require.NoError(t, err)
	require.EqualValues(t, maxKubelets, a.asked.Load())
	require.LessOrEqual(t, a.most.Load(), int32(kubeletsAtOnce))
	require.Contains(t, got, "kubelet v1.35.4 on 500 node(s) (n000, n001, n002, n003, n004, n005, n006, n007, n008, n009 and 490 more): DRAExtendedResource=true\n"+
		"  50 of 550 kubelets could not be read: no more than 500 are asked\n")
}
