//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

const guardSettings = "distribution: Vanilla\nnodeGroups:\n- {name: cards, drivers: [nvidia], nodeSelector: {accelerator: card}}\n"

// The guard of a driver's pod, with the rights of its ServiceAccount: it waits for a device plugin to go, for another
// manager's label and for the files the driver needs, and gives up with the reason.
func TestGuard(t *testing.T) {
	t.Parallel()
	r := up(t)
	for _, node := range []string{"card-1", "card-2"} {
		r.addNode(node, "none")
		r.kubectl("label", "node", node, "accelerator=card")
	}
	r.install(guardSettings)
	pod := r.podOn(plainNamespace, "nvidia", "card-1")
	advertise := func(node, amount string) {
		r.kubectl("patch", "node", node, "--subresource=status", "--type=merge", "-p",
			`{"status":{"capacity":{"nvidia.com/gpu":"`+amount+`"},"allocatable":{"nvidia.com/gpu":"`+amount+`"}}}`)
	}
	advertise("card-1", "8")
	advertise("card-2", "8")

	guard := r.guard(pod)
	guard.says("guard waits for the device plugin and the files", 30*time.Second, append(guard.awaitedWords(), "nvidia.com/gpu: 8")...)
	for _, file := range guard.awaited() {
		touch(t, file)
	}
	r.never("files there -> guard still waits for the device plugin", 7*time.Second, func(context.Context) error {
		if !guard.running() {
			return fmt.Errorf("it ended: %s", guard.log())
		}
		return nil
	})
	advertise("card-1", "0")
	require.Equal(t, 0, guard.exit(30*time.Second), guard.log())

	// In time or not at all: why stands where the kubelet takes it from into the pod's status.
	other := r.podOn(plainNamespace, "nvidia", "card-2")
	require.Contains(t, r.guardGivesUp(other), "nvidia.com/gpu: 8")
	advertise("card-2", "0")
	message := r.guardGivesUp(other)
	require.Contains(t, message, guard.awaitedWords()[0])
	require.NotContains(t, message, "nvidia.com/gpu")

	// It reads its node and nothing else.
	allowed, refused := r.asked(t, plainNamespace, "driver-nvidia-cards")
	require.Empty(t, refused)
	require.Equal(t, map[right]bool{{"get", "", "nodes"}: true}, allowed)
	r.takeAway(t, right{"get", "", "nodes"})
	blind := r.guard(pod)
	require.Equal(t, 1, blind.exit(30*time.Second), "without the right it says so at once")
	require.Contains(t, blind.log(), "nodes")
}

// guardGivesUp runs a guard with no time and returns the reason it leaves.
func (r *rig) guardGivesUp(pod *corev1.Pod) string {
	r.t.Helper()
	reason := filepath.Join(r.t.TempDir(), "termination-log")
	touch(r.t, reason)
	late := r.guard(pod, "--timeout=1s", "--termination-log="+reason)
	require.Equal(r.t, 1, late.exit(30*time.Second))
	message, err := os.ReadFile(reason)
	require.NoError(r.t, err)
	require.Contains(r.t, late.log(), strings.Split(string(message), "\n")[0])
	return string(message)
}

// guard runs the guard of a driver's pod.
func (r *rig) guard(pod *corev1.Pod, arguments ...string) *container {
	r.t.Helper()
	root, err := os.MkdirTemp("", "guard")
	require.NoError(r.t, err)
	return r.runIn(root, pod, "guard", controllerPath, append([]string{"--", "--kubeconfig=" + filepath.Join(root, "kubeconfig")}, arguments...)...)
}

// awaited are the first paths, on this machine, of everything that the guard waits for.
func (c *container) awaited() []string {
	var out []string
	for _, arg := range c.spec.Args {
		if what, ok := strings.CutPrefix(arg, "--wait-for="); ok {
			_, paths, _ := strings.Cut(what, "=/")
			path, _, _ := strings.Cut("/"+paths, ",")
			out = append(out, c.path(path))
		}
	}
	require.NotEmpty(c.r.t, out)
	return out
}

// awaitedWords are what the profile calls them.
func (c *container) awaitedWords() []string {
	var out []string
	for _, arg := range c.spec.Args {
		if what, ok := strings.CutPrefix(arg, "--wait-for="); ok {
			words, _, _ := strings.Cut(what, "=/")
			out = append(out, words)
		}
	}
	return out
}

func touch(t *testing.T, path string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, nil, 0o644))
}
