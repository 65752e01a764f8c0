package plan

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/cli"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/kubeconfigtest"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// written is when the controller wrote the statuses of these tests.
var written = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

var update = flag.Bool("update", false, "write the expected outputs anew")

// status is what the controller writes of a cluster of 1.34 with a group that wants partitions, a scheduler with a gate twice,
// and old kubelets.
func status(t *testing.T, distribution string) *v1alpha1.GPUStack {
	t.Helper()
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	profiles, err := profile.NewSet(builtin...)
	require.NoError(t, err)
	distributions, err := profile.Distributions()
	require.NoError(t, err)
	instance := func(component, name string, flags ...string) featuregate.Instance {
		return featuregate.NewInstance(component, name, "v1.34.4", append([]string{component}, flags...))
	}
	in := stack.Input{
		Synced: true, KubernetesVersion: "v1.34.4", ResourceAPIs: []string{"v1"}, Profiles: profiles, Distribution: distributions[distribution],
		Settings: &settings.Settings{NodeGroups: []settings.NodeGroup{{Name: "gpu", Drivers: []string{"nvidia"}, Partitioning: "Dynamic"}},
			DeviceClasses: settings.DeviceClasses{ExtendedResources: "Always"}},
		Instances: []featuregate.Instance{
			instance(featuregate.APIServer, "kube-apiserver-m1", "--feature-gates=SidecarContainers=true"),
			instance(featuregate.ControllerManager, "kube-controller-manager-m1"),
			instance(featuregate.Scheduler, "kube-scheduler-m1", "--feature-gates=DRAConsumableCapacity=true,DRAConsumableCapacity=false"),
		},
		Nodes: []v1alpha1.GPUNode{{ObjectMeta: metav1.ObjectMeta{Name: "n"}, Status: v1alpha1.GPUNodeStatus{
			Groups: []string{"gpu"}, Runtime: &v1alpha1.NodeRuntime{KubeletVersion: "v1.33.5"}}}},
	}
	return &v1alpha1.GPUStack{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUStack"}, ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StackName},
		Status: stack.Compute(v1alpha1.GPUStackStatus{}, in, written),
	}
}

func file(t *testing.T, s *v1alpha1.GPUStack) string {
	t.Helper()
	data, err := yaml.Marshal(s)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "stack.yaml")
	require.NoError(t, os.WriteFile(path, data, 0o644))
	return path
}

func run(t *testing.T, stdin string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := command(func() time.Time { return written.Add(time.Minute) })
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetArgs(args)
	c.SetIn(strings.NewReader(stdin))
	c.SetOut(&out)
	err := c.ExecuteContext(context.Background())
	return out.String(), err
}

func TestText(t *testing.T) {
	for _, distribution := range []string{"Vanilla", "Deckhouse"} {
		t.Run(distribution, func(t *testing.T) {
			got, err := run(t, "", "--file", file(t, status(t, distribution)))
			require.NoError(t, err)
			golden := filepath.Join("testdata", strings.ToLower(distribution)+".txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), got)
		})
	}
}

func TestOtherRulesThanTheStatusSays(t *testing.T) {
	s := file(t, status(t, "Vanilla"))
	got, err := run(t, "", "--file", s, "--distribution", "Deckhouse")
	require.NoError(t, err)
	require.Contains(t, got, "What Deckhouse sets by itself in 1.34")
	require.NotContains(t, got, "ClusterConfiguration")
}

func TestMachinesGetTheSame(t *testing.T) {
	s := status(t, "Vanilla")
	data, err := yaml.Marshal(s)
	require.NoError(t, err)
	got, err := run(t, string(data), "--file", "-", "-o", "yaml")
	require.NoError(t, err)
	var d document
	require.NoError(t, yaml.UnmarshalStrict([]byte(got), &d))
	require.Equal(t, s.Status.FeatureGates, d.FeatureGates)
	require.Equal(t, "v1.34.4", d.KubernetesVersion)
}

func TestUpgradeTo(t *testing.T) {
	s := status(t, "Vanilla")
	s.Status.KubeletVersions = []v1alpha1.VersionCount{{Version: "v1.34.4", Count: 1}}
	path := file(t, s)
	got, err := run(t, "", "--file", path, "--upgrade-to", "1.36")
	require.NoError(t, err, "nothing stops so far")
	require.NotContains(t, got, "  1.37 ")
	require.Contains(t, got, "  1.35 note")
	got, err = run(t, "", "--file", path, "--upgrade-to", "v1.37.2")
	require.ErrorContains(t, err, "1 finding(s) stop something on the way to Kubernetes v1.37.2")
	require.Equal(t, cli.ExitFailed, cli.ExitCode(err))
	require.Contains(t, got, "1.37 STOPS SidecarContainers kube-apiserver (kube-apiserver-m1): ")
	_, err = run(t, "", "--file", path)
	require.NoError(t, err, "who only looks is told, not failed")
}

func TestWrong(t *testing.T) {
	stackFile := file(t, status(t, "Vanilla"))
	for name, tc := range map[string]struct {
		stdin string
		args  []string
		want  string
		code  int
	}{
		"output":       {args: []string{"-o", "xml"}, want: `--output: found "xml", expected text or yaml`, code: cli.ExitUsage},
		"two sources":  {args: []string{"--file", stackFile, "--kubeconfig", "x"}, want: "leave out --kubeconfig and --context, or --file", code: cli.ExitUsage},
		"no kubelets":  {args: []string{"--file", stackFile, "--kubelets"}, want: "leave out --kubelets, or --file", code: cli.ExitUsage},
		"no upgrade":   {args: []string{"--file", stackFile, "--upgrade-to", "1.34"}, want: `--upgrade-to: found "1.34", expected a version above 1.34, which the API server runs`, code: cli.ExitUsage},
		"version":      {args: []string{"--file", stackFile, "--upgrade-to", "next"}, want: `--upgrade-to: found "next", expected a Kubernetes version`, code: cli.ExitUsage},
		"too far":      {args: []string{"--file", stackFile, "--upgrade-to", "1.50"}, want: fmt.Sprintf("expected at most 1.%d", featuregate.Newest+1), code: cli.ExitUsage},
		"distribution": {args: []string{"--file", stackFile, "--distribution", "Rancher"}, want: `--distribution: found "Rancher", expected Deckhouse, Rosa or Vanilla`, code: cli.ExitUsage},
		"no file":      {args: []string{"--file", "/nowhere"}, want: "/nowhere", code: cli.ExitFailed},
		"no yaml":      {stdin: "a: [", args: []string{"--file", "-"}, want: "standard input, document 1: ", code: cli.ExitFailed},
		"another kind": {stdin: "kind: Pod\napiVersion: v1\n", args: []string{"--file", "-"}, want: `found no GPUStack, but "Pod" null of "v1"; `, code: cli.ExitFailed},
		"empty list":   {stdin: "kind: List\napiVersion: v1\nitems: []\n", args: []string{"--file", "-"}, want: "found no GPUStack, but an empty list", code: cli.ExitFailed},
		"wrong type":   {stdin: "kind: GPUStack\napiVersion: gpu-dra.deckhouse.io/v1alpha1\nstatus: {featureGates: {needed: many}}\n", args: []string{"--file", "-"}, want: `standard input, document 1, GPUStack: status.featureGates.needed: found "many", expected a list`, code: cli.ExitFailed},
		"no status":    {stdin: "kind: GPUStack\napiVersion: gpu-dra.deckhouse.io/v1alpha1\nmetadata: {name: main}\n", args: []string{"--file", "-"}, want: "GPUStack main has no status yet: see whether Deployment controller runs", code: cli.ExitFailed},
		"kubeconfig":   {args: []string{"--kubeconfig", "/nowhere"}, want: "kubeconfig: ", code: cli.ExitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, tc.stdin, tc.args...)
			require.ErrorContains(t, err, tc.want)
			require.Equal(t, tc.code, cli.ExitCode(err))
			require.Empty(t, out)
		})
	}
}

func TestListOfOne(t *testing.T) {
	data, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{status(t, "Vanilla")}})
	require.NoError(t, err)
	got, err := run(t, string(data), "--file", "-")
	require.NoError(t, err)
	require.Contains(t, got, "Kubernetes v1.34.4")
}

func TestFromACluster(t *testing.T) {
	s := status(t, "Vanilla")
	there := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method != http.MethodGet || r.URL.Path != "/apis/gpu-dra.deckhouse.io/v1alpha1/gpustacks/main" || !there {
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404})
			return
		}
		_ = json.NewEncoder(w).Encode(s)
	}))
	defer server.Close()
	kubeconfig := kubeconfigtest.File(t, server.URL)

	got, err := run(t, "", "--kubeconfig", kubeconfig, "--context", kubeconfigtest.Context)
	require.NoError(t, err)
	want, err := run(t, "", "--file", file(t, s))
	require.NoError(t, err)
	require.Equal(t, want, got)

	there = false
	_, err = run(t, "", "--kubeconfig", kubeconfig, "--context", kubeconfigtest.Context)
	require.ErrorContains(t, err, "the cluster has no GPUStack main")
	var failure *cli.Failure
	require.True(t, errors.As(err, &failure))
}

func TestAStatusThatIsNotThePresentState(t *testing.T) {
	s := status(t, "Vanilla")
	s.Status.Synced = false
	got, err := run(t, "", "--file", file(t, s))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(got, "Incomplete: the controller was still reading the cluster"), got)

	s.Status.Heartbeat = &metav1.Time{Time: written.Add(-time.Hour)}
	got, err = run(t, "", "--file", file(t, s))
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(got, "Out of date: this status was written 1h1m0s ago (2026-03-01T11:00:00Z)."), got)
	got, err = run(t, "", "--file", file(t, s), "-o", "yaml")
	require.NoError(t, err)
	var d document
	require.NoError(t, yaml.UnmarshalStrict([]byte(got), &d))
	require.Contains(t, d.OutOfDate, "written 1h1m0s ago")
}

// A control plane that nobody can look into must not pass for one with nothing in the way.
func TestAControlPlaneOfSomebodyElse(t *testing.T) {
	s := status(t, "Vanilla")
	s.Status.FeatureGates.Instances, s.Status.FeatureGates.Conflicts = nil, nil
	s.Status.FeatureGates.SliceLayout = &v1alpha1.SliceLayout{InlineCounters: []string{"gpu.nvidia.com"}}
	got, err := run(t, "", "--file", file(t, s), "--upgrade-to", "1.35")
	require.ErrorContains(t, err, "2 finding(s) stop something on the way to Kubernetes 1.35")
	for _, part := range []string{
		"  DRAPartitionableDevices: not known, needed by nodeGroups[name=gpu].partitioning\n    kube-apiserver: look at its flags yourself (no kube-apiserver was seen)\n",
		"  1.34 STOPS kube-apiserver: 1 kubelet(s) below 1.34",
		"  1.35 note  kube-scheduler: its flags can't be read, no instance of it was seen: look yourself whether they stop it\n",
		"  1.35 STOPS DRAPartitionableDevices: slices of gpu.nvidia.com hold counters",
	} {
		require.Contains(t, got, part)
	}
	_, err = run(t, "", "--file", file(t, s), "--upgrade-to", "1.34")
	require.ErrorContains(t, err, "expected a version above 1.34")
}

func TestNothingIsNotKnownWithoutAReason(t *testing.T) {
	s := status(t, "Vanilla")
	s.Status.FeatureGates.Needed = []v1alpha1.NeededGate{{Name: "AllBeta", NeededBy: []string{"kubernetesFeatureGates.extraRequired"}}, {Name: "DRAXyz", NeededBy: []string{"x"}}}
	got, err := run(t, "", "--file", file(t, s))
	require.NoError(t, err)
	require.Contains(t, got, "  AllBeta: not known, needed by kubernetesFeatureGates.extraRequired\n    AllBeta sets every gate of its stage")
	require.Contains(t, got, "  DRAXyz: not known, needed by x\n    no Kubernetes version from 1.31 to 1.")
}

func TestAGateWhoseAPIIsNotServed(t *testing.T) {
	s := status(t, "Vanilla")
	s.Status.FeatureGates.Needed = []v1alpha1.NeededGate{{Name: "DRADeviceTaints", NeededBy: []string{"x"}}}
	for i := range s.Status.FeatureGates.Instances {
		s.Status.FeatureGates.Instances[i].Set = map[string]bool{"DRADeviceTaints": true}
	}
	got, err := run(t, "", "--file", file(t, s))
	require.NoError(t, err)
	require.Contains(t, got, "  DRADeviceTaints: on, but its API is not served, needed by x\n    kube-apiserver v1.34.4 (kube-apiserver-m1): add --runtime-config=resource.k8s.io/v1alpha3=true")
}

func TestCrossCheckThatCouldNotBeDoneIsSaid(t *testing.T) {
	s := status(t, "Vanilla")
	s.Status.FeatureGates.CrossCheck = &v1alpha1.GateCrossCheck{State: "Unreadable", Message: "forbidden"}
	s.Status.FeatureGates.Conflicts = append(s.Status.FeatureGates.Conflicts, v1alpha1.GateConflict{
		Gate: "DRAAdminAccess", Component: "kube-apiserver", Source: "metrics", Message: "/metrics of the API server says off"})
	got, err := run(t, "", "--file", file(t, s))
	require.NoError(t, err)
	require.Contains(t, got, "\n  The flags are not checked against /metrics of the API server: forbidden\n")
	require.Contains(t, got, "\n  DRAAdminAccess: /metrics of the API server says off\n")
}
