//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// container is one container of a pod of the chart that runs as a process with a token bound to the pod.
type container struct {
	r *rig
	// pod and its container; root is where its host folders are.
	pod  *corev1.Pod
	spec corev1.Container
	root string

	arguments []string
	said      bytes.Buffer
	ended     chan error
	cmd       *exec.Cmd
}

// podOn returns the pod that a group's DaemonSet of a driver has on a node.
func (r *rig) podOn(namespace, driver, node string) *corev1.Pod {
	r.t.Helper()
	var found *corev1.Pod
	r.eventually("pod of driver "+driver+" on node "+node, 60*time.Second, func(ctx context.Context) error {
		var pods corev1.PodList
		if err := r.client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels{v1alpha1.Group + "/driver": driver}); err != nil {
			return err
		}
		for i := range pods.Items {
			if p := &pods.Items[i]; p.Spec.NodeName == node && p.Status.Phase == corev1.PodRunning {
				found = p
				return nil
			}
		}
		return fmt.Errorf("%d pods, none of which runs there", len(pods.Items))
	})
	return found
}

// run starts a container of a pod in place of the kubelet. arguments go to `cluster pod run`; those after "--" to the process.
func (r *rig) run(pod *corev1.Pod, name, binary string, arguments ...string) *container {
	r.t.Helper()
	// The name of a test would make paths of sockets too long.
	root, err := os.MkdirTemp("", "pod")
	require.NoError(r.t, err)
	return r.runIn(root, pod, name, binary, arguments...)
}

// runIn is run with a folder of the caller's, which it removes.
func (r *rig) runIn(root string, pod *corev1.Pod, name, binary string, arguments ...string) *container {
	r.t.Helper()
	c := &container{r: r, pod: pod, root: root, arguments: append([]string{"pod", "run", "--name", r.name, "--namespace", pod.Namespace,
		"--pod", pod.Name, "--container", name, "--binary", binary, "--root", root}, arguments...)}
	for _, spec := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		if spec.Name == name {
			c.spec = spec
		}
	}
	require.Equal(r.t, name, c.spec.Name, "pod %s has no such container", pod.Name)
	c.start()
	r.t.Cleanup(func() {
		c.stop()
		if r.t.Failed() {
			r.t.Logf("end of the log of %s in %s:\n%s%s", name, pod.Name, c.said.String(), tail([]byte(c.log()), 4000))
		}
		require.NoError(r.t, os.RemoveAll(root))
	})
	return c
}

func (c *container) start() {
	c.r.t.Helper()
	c.cmd = exec.Command(clusterProgram, c.arguments...)
	c.cmd.Stdout, c.cmd.Stderr = &c.said, &c.said
	require.NoError(c.r.t, c.cmd.Start())
	cmd, ended := c.cmd, make(chan error, 1)
	c.ended = ended
	go func() { ended <- cmd.Wait() }()
}

// stop ends the process gracefully; one that has ended is no error.
func (c *container) stop() {
	if c.cmd.Process.Signal(syscall.SIGTERM) == nil {
		c.ended <- <-c.ended
	}
}

// exit waits for the process to end by itself and returns its exit code.
func (c *container) exit(limit time.Duration) int {
	c.r.t.Helper()
	select {
	case err := <-c.ended:
		c.ended <- err
		return c.cmd.ProcessState.ExitCode()
	case <-time.After(limit):
		require.Fail(c.r.t, "it does not end", "%s in %s runs still after %s:\n%s", c.spec.Name, c.pod.Name, limit, c.log())
		return -1
	}
}

func (c *container) running() bool {
	select {
	case err := <-c.ended:
		c.ended <- err
		return false
	default:
		return true
	}
}

func (c *container) log() string {
	data, _ := os.ReadFile(filepath.Join(c.root, "log"))
	return string(data)
}

func (c *container) kubeconfig() string { return filepath.Join(c.root, "kubeconfig") }

// says waits until all words are in the process's log.
func (c *container) says(what string, limit time.Duration, words ...string) {
	c.r.t.Helper()
	c.r.eventually(what, limit, func(context.Context) error {
		for _, w := range words {
			if !strings.Contains(c.log(), w) {
				return fmt.Errorf("%q is not said in %s%s", w, c.said.String(), tail([]byte(c.log()), 3000))
			}
		}
		return nil
	})
}

// path is where a path in the container is on this machine.
func (c *container) path(inside string) string {
	c.r.t.Helper()
	best, out := "", ""
	for _, m := range c.spec.VolumeMounts {
		mount := strings.TrimRight(m.MountPath, "/")
		if rest, ok := strings.CutPrefix(inside, mount); ok && (rest == "" || rest[0] == '/') && len(mount) >= len(best) {
			best, out = mount, filepath.Join(c.root, m.Name, m.SubPath, rest)
		}
	}
	require.NotEmpty(c.r.t, out, "%s is in no volume of container %s", inside, c.spec.Name)
	return out
}

// env is the value of a variable of the container.
func (c *container) env(name string) string {
	for _, e := range c.spec.Env {
		if e.Name == name {
			return e.Value
		}
	}
	return ""
}
