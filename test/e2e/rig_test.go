//go:build e2e

// Package e2e drives the whole product on real clusters: kube-apiserver, scheduler, controller manager and etcd built from
// source, the module's bundle under the real addon-operator and the chart's package under the real Helm, and the controller, a
// driver and its guard as processes with the rights that the chart gives them. Only kubelets are played, by kwok, except where a test
// asks for a real node (upReal): there all of it runs in containers. It uses the packages, the `cluster` program and a kubeconfig,
// nothing else.
package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chartutil"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// What `make test-e2e` builds before it runs these tests: the product is installed from its packages only.
var (
	clusterProgram = built("cluster")
	moduleDir      = built("module")
	chartPackage   = built("gpu-dra-" + chartVersion() + ".tgz")
	controllerPath = built("gpu-dra")
	observePath    = built("observe")
)

func built(name string) string {
	path, err := filepath.Abs(filepath.Join("..", "..", "_out", name))
	if err != nil {
		panic(err)
	}
	return path
}

func chartVersion() string {
	metadata, err := chartutil.LoadChartfile(filepath.Join("..", "..", "Chart.yaml"))
	if err != nil {
		panic(err)
	}
	return metadata.Version
}

// The client that tests use wants to log; what it would say, the errors say too.
func init() { log.SetLogger(logr.Discard()) }

// rig is one cluster and what runs on it.
type rig struct {
	t      *testing.T
	name   string
	config *rest.Config
	client client.Client
}

// up starts a cluster of its own for a test and takes it down afterwards. A failed test prints the ends of the logs.
func up(t *testing.T, args ...string) *rig {
	t.Helper()
	return upNamed(t, "", args...)
}

// upNamed is up for a test that needs more than one cluster.
func upNamed(t *testing.T, suffix string, args ...string) *rig {
	t.Helper()
	for _, path := range []string{clusterProgram, moduleDir, chartPackage, controllerPath} {
		_, err := os.Stat(path)
		require.NoError(t, err, "build it first: make test-e2e")
	}
	r := &rig{t: t, name: "e2e-" + strings.ToLower(strings.NewReplacer("/", "-", "_", "-").Replace(t.Name())) + suffix}
	r.cluster("down")
	t.Cleanup(func() {
		if t.Failed() {
			r.printLogs()
		}
		r.cluster("down")
	})
	r.cluster(append([]string{"up"}, args...)...)
	config, err := clientcmd.BuildConfigFromFlags("", r.kubeconfig())
	require.NoError(t, err)
	config.QPS, config.Burst = 200, 400
	r.config = config
	scheme := runtime.NewScheme()
	require.NoError(t, clientgoscheme.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	r.client, err = client.New(config, client.Options{Scheme: scheme})
	require.NoError(t, err)
	return r
}

// cluster runs the cluster program on this rig's cluster and returns what it printed.
func (r *rig) cluster(args ...string) string {
	r.t.Helper()
	out, err := r.tryCluster(args...)
	require.NoError(r.t, err)
	return out
}

func (r *rig) tryCluster(args ...string) (string, error) {
	cmd := exec.Command(clusterProgram, append(args, "--name", r.name)...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("cluster %s: %w\n%s%s", strings.Join(args, " "), err, stdout.String(), stderr.String())
	}
	return stdout.String(), nil
}

func (r *rig) kubeconfig() string { return strings.TrimSpace(r.cluster("kubeconfig")) }

// kubectl runs the kubectl built with the cluster.
func (r *rig) kubectl(args ...string) string {
	r.t.Helper()
	return r.program("kubectl", args...)
}

// helm runs the helm built with the cluster.
func (r *rig) helm(args ...string) string {
	r.t.Helper()
	return r.program("helm", args...)
}

func (r *rig) program(name string, args ...string) string {
	r.t.Helper()
	out, err := r.tryProgram(name, args...)
	require.NoError(r.t, err, "%s %s: %s", name, strings.Join(args, " "), out)
	return out
}

func (r *rig) tryProgram(name string, args ...string) (string, error) {
	r.t.Helper()
	cmd := exec.Command(r.bin(name), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+r.kubeconfig())
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// bin is the path of a program that was built with the cluster.
func (r *rig) bin(name string) string {
	r.t.Helper()
	return strings.TrimSpace(r.cluster("bin", name))
}

// apply applies files of the repository.
func (r *rig) apply(files ...string) {
	r.t.Helper()
	for _, f := range files {
		r.kubectl("apply", "--server-side", "-f", filepath.Join("..", "..", f))
	}
}

// startOperator starts the real addon-operator with the module and settings.
func (r *rig) startOperator(settings string) {
	r.t.Helper()
	r.cluster("operator", "start", "--module", moduleDir, "--settings", r.file("settings.yaml", settings))
}

// settings changes the settings that addon-operator reads.
func (r *rig) settings(settings string) {
	r.t.Helper()
	r.cluster("operator", "settings", "--file", r.file("settings.yaml", settings))
}

func (r *rig) startController() {
	r.t.Helper()
	r.cluster("controller", "start", "--binary", controllerPath)
}

func (r *rig) file(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), name)
	require.NoError(r.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func (r *rig) printLogs() {
	home, err := os.UserCacheDir()
	if err != nil {
		return
	}
	if dir := os.Getenv("GPU_DRA_CLUSTERS_DIR"); dir != "" {
		home = dir
	} else {
		home = filepath.Join(home, "gpu-dra", "clusters")
	}
	for _, pattern := range []string{"logs/addon-operator*", "logs/controller*"} {
		logs, _ := filepath.Glob(filepath.Join(home, r.name, pattern))
		for _, path := range logs {
			data, _ := os.ReadFile(path)
			r.t.Logf("end of %s:\n%s", filepath.Base(path), tail(data, 6000))
		}
	}
}

func tail(data []byte, n int) []byte {
	if len(data) > n {
		return data[len(data)-n:]
	}
	return data
}

// eventually polls until check returns nil, and logs how long that took. It is polling because the tests watch several
// kinds at once; the product itself watches.
func (r *rig) eventually(what string, deadline time.Duration, check func(ctx context.Context) error) time.Duration {
	r.t.Helper()
	start := time.Now()
	var last error
	for time.Since(start) < deadline {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		last = check(ctx)
		cancel()
		if last == nil {
			took := time.Since(start)
			r.t.Logf("%-60s %6.2f s", what, took.Seconds())
			return took
		}
		time.Sleep(50 * time.Millisecond)
	}
	require.NoError(r.t, last, "%s: not within %s", what, deadline)
	return 0
}

// never watches that check holds for the whole time.
func (r *rig) never(what string, during time.Duration, check func(ctx context.Context) error) {
	r.t.Helper()
	for start := time.Now(); time.Since(start) < during; time.Sleep(100 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err := check(ctx)
		cancel()
		require.NoError(r.t, err, "%s: after %s", what, time.Since(start))
	}
}
