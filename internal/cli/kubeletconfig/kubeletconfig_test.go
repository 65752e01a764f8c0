package kubeletconfig

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/cli"
	"github.com/gpu-dra/gpu-dra/internal/kubeconfigtest"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// group is a GPUNodeGroup as the product writes it: a node of 2 TiB with eight cards, and hard eviction at a percentage.
func group(t *testing.T, name string) *v1alpha1.GPUNodeGroup {
	t.Helper()
	p, err := reservation.NewPlatform(profile.KubeletMemory{Reserved: reservation.ReservedTiered, EvictionHard: "1%", EvictionSoft: "2%"})
	require.NoError(t, err)
	s, err := settings.Parse(nil)
	require.NoError(t, err)
	memory := &v1alpha1.NodeMemory{Capacity: resource.MustParse("2Ti"), Allocatable: *resource.NewQuantity(2048<<30-23836019917-21990232556, resource.BinarySI)}
	result := reservation.Compute(p, s.MemoryReservation, []reservation.Node{{Name: "a", Memory: memory, Cards: 8}})
	return &v1alpha1.GPUNodeGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUNodeGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1alpha1.GPUNodeGroupStatus{MemoryReservation: result.Status(reservation.ModeAdvise)},
	}
}

func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	c := New()
	c.SilenceErrors, c.SilenceUsage = true, true
	var out bytes.Buffer
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&out)
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

func text(t *testing.T, objects ...any) string {
	t.Helper()
	var parts []string
	for _, o := range objects {
		data, err := yaml.Marshal(o)
		require.NoError(t, err)
		parts = append(parts, string(data))
	}
	return strings.Join(parts, "---\n")
}

func parsed(t *testing.T, out string) configuration {
	t.Helper()
	var c configuration
	require.NoError(t, yaml.UnmarshalStrict([]byte(out), &c), out)
	return c
}

func TestPrintsTheRecommendation(t *testing.T) {
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{group(t, "other"), group(t, "gpu")}}
	for name, stdin := range map[string]string{
		"one": text(t, group(t, "gpu")), "a list": text(t, list), "documents": text(t, group(t, "other"), group(t, "gpu")),
	} {
		out, err := run(t, stdin, "--node-group", "gpu", "--file", "-")
		require.NoError(t, err, name)
		require.Equal(t, configuration{APIVersion: "kubelet.config.k8s.io/v1beta1", Kind: "KubeletConfiguration",
			SystemReserved: map[string]string{"memory": "25068Mi"}}, parsed(t, out), name)
		require.Contains(t, out, "# node a: systemNeed decides: 4096Mi of systemNeed", name)
		require.Contains(t, out, "EvictionHard 21990232556, reserved now 23836019917", name)
		require.Contains(t, out, "# If kubeReserved has memory too")
		require.Contains(t, out, "# Without --config-dir")
		require.NotContains(t, out, "reservedMemory")
	}
}

func TestNUMA(t *testing.T) {
	out, err := run(t, text(t, group(t, "gpu")), "--node-group", "gpu", "--file", "-", "--numa", "512Gi,0,1536Gi")
	require.NoError(t, err)
	c := parsed(t, out)
	require.Len(t, c.ReservedMemory, 2, "the kubelet refuses a share of nothing")
	sum := int64(0)
	for _, n := range c.ReservedMemory {
		q := resource.MustParse(n.Limits["memory"])
		sum += q.Value()
	}
	require.EqualValues(t, 25068<<20+21990232556, sum, "systemReserved and evictionHard to the byte")
	require.Equal(t, 2, c.ReservedMemory[1].NUMANode)
	require.Contains(t, out, "to the byte")
	require.Contains(t, out, "replaces the whole list")
	require.Contains(t, out, "evictionHard memory.available as 21990232556")
}

func TestNodeGroupOfThePlatform(t *testing.T) {
	g := group(t, "gpu")
	g.OwnerReferences = []metav1.OwnerReference{{APIVersion: "deckhouse.io/v1", Kind: "NodeGroup", Name: "gpu", UID: "u"}}
	out, err := DropIn(g, nil)
	require.NoError(t, err)
	// A fixed reservation of memory alone would end what the platform reserves of the rest (deckhouse.md §5.4: 70m, 1Gi).
	require.Contains(t, string(out), "# NodeGroup gpu configures these kubelets: over spec.kubelet.resourceReservation.mode Auto set mode Static there, "+
		"and in static all of memory 25068Mi, cpu 70m, ephemeralStorage 1Gi.\n# Static reserves the given fields only;")
	require.Equal(t, "25068Mi", parsed(t, string(out)).SystemReserved["memory"])
	require.NotContains(t, string(out), "--config-dir")
}

// The text of a status may be anybody's.
func TestCommentsStayComments(t *testing.T) {
	g := group(t, "gpu")
	for _, lineBreak := range []string{"\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029"} {
		g.Status.MemoryReservation.Why = "because" + lineBreak + "systemReserved: {memory: 1Ki}" + lineBreak + "---" + lineBreak
		out, err := DropIn(g, nil)
		require.NoError(t, err)
		require.Equal(t, "25068Mi", parsed(t, string(out)).SystemReserved["memory"])
	}
}

func TestWhatIsWrong(t *testing.T) {
	off, silent, odd, old := group(t, "gpu"), group(t, "gpu"), group(t, "gpu"), group(t, "gpu")
	off.Status.MemoryReservation = nil
	silent.Status.MemoryReservation = &v1alpha1.MemoryReservation{Why: "the group has no node yet"}
	odd.APIVersion = "gpu-dra.deckhouse.io/v2"
	old.Status.MemoryReservation.Breakdown = nil
	good := text(t, group(t, "gpu"))
	for says, c := range map[string]struct {
		stdin string
		args  []string
		code  int
	}{
		`found no GPUNodeGroup "gpu", but "GPUNodeGroup" "other"`: {text(t, group(t, "other")), nil, cli.ExitFailed},
		`standard input: found no GPUNodeGroup "gpu"; `:           {"", nil, cli.ExitFailed},
		"standard input, document 1: ":                            {"a: [", nil, cli.ExitFailed},
		"is memoryReservation.mode Off":                           {text(t, off), nil, cli.ExitFailed},
		"recommends nothing: the group has no node yet":           {text(t, silent), nil, cli.ExitFailed},
		"recommended: found -4Gi, expected an amount above 0":     {strings.Replace(good, "recommended: 25068Mi", "recommended: -4Gi", 1), nil, cli.ExitFailed},
		`apiVersion: found "gpu-dra.deckhouse.io/v2", expected`:   {text(t, odd), nil, cli.ExitFailed},
		"found no EvictionHard in status":                         {text(t, old), []string{"--numa", "1Ti,1Ti"}, cli.ExitFailed},
		"--numa: found 2147483648 bytes":                          {good, []string{"--numa", "1Gi,1Gi"}, cli.ExitFailed},
		`--numa: found "much" for NUMA node 1, expected`:          {good, []string{"--numa", "1Ti,much"}, cli.ExitUsage},
		`--numa: found "-1" for NUMA node 0, expected`:            {good, []string{"--numa=-1"}, cli.ExitUsage},
		"leave out --kubeconfig and --context":                    {good, []string{"--kubeconfig", "x"}, cli.ExitUsage},
		"and --context, or --file":                                {good, []string{"--context", "x"}, cli.ExitUsage},
		"none.yaml: no such file":                                 {good, []string{"--file", "none.yaml"}, cli.ExitFailed},
		`GPUNodeGroup "gpu": status.memoryReservation.recommended: found "much", expected an amount such as 25068Mi`: {strings.Replace(good, "recommended: 25068Mi", "recommended: much", 1), nil, cli.ExitFailed},
	} {
		args := append([]string{"--node-group", "gpu", "--file", "-"}, c.args...)
		out, err := run(t, c.stdin, args...)
		require.Error(t, err, says)
		require.Contains(t, err.Error(), says)
		require.Equal(t, c.code, cli.ExitCode(err), says)
		require.Empty(t, out, "nothing is printed")
	}
	_, err := run(t, good, "--file", "-")
	require.ErrorContains(t, err, `"node-group" not set`)
}

func TestFromACluster(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		var answer any
		switch r.URL.Path {
		case "/apis/gpu-dra.deckhouse.io/v1alpha1/gpunodegroups/gpu":
			answer = group(t, "gpu")
		default:
			w.WriteHeader(http.StatusNotFound)
			answer = metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404}
		}
		data, _ := json.Marshal(answer)
		_, _ = w.Write(data)
	}))
	defer server.Close()
	kubeconfig := kubeconfigtest.File(t, server.URL)
	out, err := run(t, "", "--node-group", "gpu", "--kubeconfig", kubeconfig, "--context", kubeconfigtest.Context)
	require.NoError(t, err)
	require.Equal(t, "25068Mi", parsed(t, out).SystemReserved["memory"])
	_, err = run(t, "", "--node-group", "none", "--kubeconfig", kubeconfig)
	require.ErrorContains(t, err, `there is no GPUNodeGroup "none" in the cluster; kubectl get gng lists them`)
	require.Equal(t, cli.ExitFailed, cli.ExitCode(err))
	_, err = run(t, "", "--node-group", "gpu", "--kubeconfig", kubeconfig, "--context", "none")
	require.ErrorContains(t, err, `context "none" does not exist`)
	_, err = run(t, "", "--node-group", "gpu", "--kubeconfig", filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "--kubeconfig and --context name another")
}
