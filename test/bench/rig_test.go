//go:build bench

package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/platform"
)

// root of the repository, absolute, since programs are started in other folders.
var root = func() string {
	path, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		panic(err)
	}
	return path
}()

// What `make bench` builds before it runs this.
var (
	clusterProgram = filepath.Join(root, "_out", "cluster")
	moduleDir      = filepath.Join(root, "_out", "module")
	controllerPath = filepath.Join(root, "_out", "gpu-dra")
	hooksPath      = filepath.Join(root, "_out", "gpu-dra-hooks")
)

// rig is one cluster and what runs on it.
type rig struct {
	t    *testing.T
	name string
	// dir is the cluster's folder, kubeconfig its administrator's.
	dir, kubeconfig string
	// custom reads and writes the kinds of gpu-dra and Deckhouse.
	custom client.WithWatch
	// typed writes the kinds of Kubernetes, as protobuf, because a fleet of JSON would keep the machine busy for minutes.
	typed kubernetes.Interface
}

// running are the clusters to take down when the bench is interrupted.
var running sync.Map

func downAll() {
	running.Range(func(name, _ any) bool {
		_ = exec.Command(clusterProgram, "down", "--name", name.(string)).Run()
		return true
	})
}

// up starts a cluster without scheduler, controller manager and kubelets: their nodes would beat, and that is not what is
// measured. It is taken down when the test ends.
func up(t *testing.T, name string) *rig {
	t.Helper()
	for _, path := range []string{clusterProgram, moduleDir, controllerPath, hooksPath} {
		_, err := os.Stat(path)
		require.NoError(t, err, "build it first: make bench")
	}
	r := &rig{t: t, name: "bench-" + strings.ToLower(name)}
	r.cluster("down")
	running.Store(r.name, true)
	t.Cleanup(func() {
		r.cluster("down")
		running.Delete(r.name)
	})
	r.cluster("up", "--components", "etcd,kube-apiserver", "--deckhouse-gates")
	var status struct{ Dir, Kubeconfig string }
	require.NoError(t, json.Unmarshal([]byte(r.cluster("status", "-o", "json")), &status))
	r.dir, r.kubeconfig = status.Dir, status.Kubeconfig
	r.connect()
	return r
}

func (r *rig) connect() {
	config, err := clientcmd.BuildConfigFromFlags("", r.kubeconfig)
	require.NoError(r.t, err)
	config.QPS, config.Burst = 2000, 4000
	scheme := runtime.NewScheme()
	require.NoError(r.t, clientgoscheme.AddToScheme(scheme))
	require.NoError(r.t, v1alpha1.AddToScheme(scheme))
	r.custom, err = client.NewWithWatch(config, client.Options{Scheme: scheme})
	require.NoError(r.t, err)
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	r.typed, err = kubernetes.NewForConfig(config)
	require.NoError(r.t, err)
}

// cluster runs the cluster program on this rig's cluster and returns what it printed.
func (r *rig) cluster(args ...string) string {
	r.t.Helper()
	cmd := exec.Command(clusterProgram, append(args, "--name", r.name)...)
	cmd.Dir = root
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(r.t, cmd.Run(), "cluster %s:\n%s%s", strings.Join(args, " "), &stdout, &stderr)
	return stdout.String()
}

// apply applies files of the repository and waits for the kinds that they define.
func (r *rig) apply(files ...string) {
	r.t.Helper()
	kubectl := strings.TrimSpace(r.cluster("bin", "kubectl"))
	for _, f := range files {
		path := filepath.Join(root, f)
		for _, args := range [][]string{
			{"apply", "--server-side", "-f", path}, {"wait", "--for=condition=Established", "-f", path, "--timeout=30s"},
		} {
			out, err := exec.Command(kubectl, append(args, "--kubeconfig", r.kubeconfig)...).CombinedOutput()
			require.NoError(r.t, err, "%s", out)
		}
	}
}

// nodeGroups makes the kind NodeGroup and all groups.
func (r *rig) nodeGroups() {
	r.t.Helper()
	r.apply("examples/demo/nodegroup-crd.yaml")
	for i := range groups {
		g := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"nodeType": "Static"}}}
		g.SetGroupVersionKind(platform.NodeGroupKind)
		g.SetName(groupName(i))
		require.NoError(r.t, r.custom.Create(context.Background(), g))
	}
}

// install starts the module, for cards cut or not, under addon-operator, and the controller, on a cluster without nodes.
func (r *rig) install(partitioning string) {
	r.t.Helper()
	r.nodeGroups()
	path := filepath.Join(r.t.TempDir(), "settings.yaml")
	require.NoError(r.t, os.WriteFile(path, []byte(moduleSettings(partitioning)), 0o600))
	r.cluster("operator", "start", "--module", moduleDir, "--settings", path)
	r.cluster("controller", "start", "--binary", controllerPath, "--wait", "60s")
	r.await("module installed, no nodes", 3*time.Minute, func(ctx context.Context) error { return r.ready(ctx, 0) })
}

// ready says whether all groups are, with so many nodes in all.
func (r *rig) ready(ctx context.Context, nodes int) error {
	var list v1alpha1.GPUNodeGroupList
	if err := r.custom.List(ctx, &list); err != nil {
		return err
	}
	registered, ready := 0, 0
	for i := range list.Items {
		registered += int(list.Items[i].Status.Nodes.Registered)
		for _, c := range list.Items[i].Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				ready++
			}
		}
	}
	if registered != nodes || ready != groups {
		return fmt.Errorf("%d of %d groups are ready, with %d of %d nodes", ready, groups, registered, nodes)
	}
	return nil
}

// await polls until check returns nil, and says how long that took.
func (r *rig) await(what string, limit time.Duration, check func(context.Context) error) time.Duration {
	r.t.Helper()
	start := time.Now()
	for {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		err := check(ctx)
		cancel()
		took := time.Since(start)
		if err == nil {
			r.t.Logf("%s: %s after %.1f s", r.name, what, took.Seconds())
			return took
		}
		require.Less(r.t, took, limit, "%s: %s: %v", r.name, what, err)
		time.Sleep(200 * time.Millisecond)
	}
}
