//go:build e2e

package e2e

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"helm.sh/helm/v3/pkg/chartutil"
	corev1 "k8s.io/api/core/v1"
)

// realNode is the one node of a cluster that has a kubelet: containerd and runc run its pods, and CDI, probes, logs and the order in
// which containers end are what they are.
type realNode struct {
	r *rig
	// Name, and addresses: the node's, and this machine's as the node and its pods see it.
	Name, Address, Host string
	// Root is the node's root folder on this machine, Link and Cgroup what else it has here.
	Root, Link, Cgroup string
	// Image is that of test/workload: pause, engine, exporter, hold and crash by the first argument.
	Image string
	Logs  []string
}

// upReal starts a cluster whose only node is a real one. Images of the product have to be loaded into it.
func upReal(t *testing.T, args ...string) (*rig, *realNode) {
	t.Helper()
	r := up(t, append([]string{"--real-nodes", "1", "--components", "etcd,kube-apiserver,kube-controller-manager,kube-scheduler"}, args...)...)
	status, err := r.status()
	require.NoError(t, err)
	require.NotNil(t, status.Node)
	status.Node.r = r
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		out, _ := r.tryProgram("kubectl", "get", "pods,resourceclaims,resourceslices", "--all-namespaces", "--output", "wide")
		t.Log(out)
		for _, log := range status.Node.Logs {
			data, _ := os.ReadFile(log)
			t.Logf("end of %s:\n%s", filepath.Base(log), tail(data, 4000))
		}
	})
	return r, status.Node
}

// load gives the node an image with one static program.
func (n *realNode) load(image, binary, path string, args ...string) {
	n.r.t.Helper()
	n.r.cluster(append([]string{"image", "load", image, "--binary", binary, "--path", path}, args...)...)
}

// loadProduct gives the node the image of gpu-dra under the name that the chart asks for.
func (n *realNode) loadProduct() {
	n.r.t.Helper()
	metadata, err := chartutil.LoadChartfile(filepath.Join("..", "..", "Chart.yaml"))
	require.NoError(n.r.t, err)
	n.load("ghcr.io/gpu-dra/gpu-dra:v"+metadata.AppVersion, controllerPath, "/gpu-dra", "--user", "64535:64535")
}

// loadExample gives the node the image of the example driver.
func (n *realNode) loadExample() {
	n.r.t.Helper()
	n.load("registry.k8s.io/dra-example-driver/dra-example-driver:v0.2.1", n.r.bin(examplePlugin), "/usr/bin/"+examplePlugin)
}

// workload is a pod of the workload image; args say what it plays.
func (n *realNode) workload(namespace, name string, args ...string) *corev1.Pod {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "engine", Image: n.Image, ImagePullPolicy: corev1.PullNever, Args: args}}}}
	pod.Namespace, pod.Name = namespace, name
	return pod
}

// get asks a pod of the node, from this machine.
func (n *realNode) get(pod *corev1.Pod, port, path string) (string, error) {
	return fetch(context.Background(), &http.Client{Timeout: 5 * time.Second}, "http://"+net.JoinHostPort(pod.Status.PodIP, port)+path)
}

// logs of a container, through the API server and the kubelet.
func (n *realNode) logs(namespace, pod, container string) string {
	n.r.t.Helper()
	return n.r.kubectl("logs", "--namespace", namespace, pod, "--container", container)
}

// processes returns the PID namespace of the node, or takes the one that is given, and which processes of this machine are in it.
func (n *realNode) processes(t *testing.T, namespace string) (string, []string) {
	t.Helper()
	if namespace == "" {
		pid, err := os.ReadFile(filepath.Join(filepath.Dir(n.Root), "pid"))
		require.NoError(t, err)
		namespace, err = os.Readlink("/proc/" + string(pid) + "/ns/pid")
		require.NoError(t, err)
	}
	links, err := filepath.Glob("/proc/[0-9]*/ns/pid")
	require.NoError(t, err)
	var in []string
	for _, link := range links {
		if found, err := os.Readlink(link); err == nil && found == namespace {
			in = append(in, strings.Split(link, "/")[2])
		}
	}
	return namespace, in
}

// down takes the cluster down and checks that the machine has nothing left of the node.
func (n *realNode) down(t *testing.T) {
	t.Helper()
	namespace, before := n.processes(t, "")
	require.Greater(t, len(before), 3, "first process, containerd, kubelet, shims")
	cgroups, err := filepath.Glob("/sys/fs/cgroup/*/" + n.Cgroup)
	require.NoError(t, err)
	if _, err := os.Stat("/sys/fs/cgroup/" + n.Cgroup); err == nil {
		cgroups = append(cgroups, "/sys/fs/cgroup/"+n.Cgroup)
	}
	require.NotEmpty(t, cgroups)
	_, err = net.InterfaceByName(n.Link)
	require.NoError(t, err)

	n.r.cluster("down")
	_, after := n.processes(t, namespace)
	require.Empty(t, after, "processes")
	for _, cgroup := range cgroups {
		require.NoDirExists(t, cgroup)
	}
	_, err = net.InterfaceByName(n.Link)
	require.Error(t, err, "link %s", n.Link)
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	require.NoError(t, err)
	require.NotContains(t, string(mounts), n.Root)
	require.NoDirExists(t, filepath.Dir(n.Root))
}
