//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// crashing is the pod whose exporter crashes whenever it starts.
	crashing = "crashing"
	// shortDrain is how long its engine works on after SIGTERM.
	shortDrain = 4 * time.Second
)

// container of a pod by its name, as the kubelet says it is.
func (n *realNode) container(pod *corev1.Pod, name string) (corev1.ContainerStatus, error) {
	var now corev1.Pod
	if err := n.r.client.Get(context.Background(), client.ObjectKeyFromObject(pod), &now); err != nil {
		return corev1.ContainerStatus{}, err
	}
	for _, s := range append(now.Status.InitContainerStatuses, now.Status.ContainerStatuses...) {
		if s.Name == name {
			return s, nil
		}
	}
	return corev1.ContainerStatus{}, fmt.Errorf("pod %s has no container %s", pod.Name, name)
}

// engineRestarts crashes the engine of a pod. The kubelet starts it again; the sidecar is the same process as before and is scraped
// all the while.
func (n *realNode) engineRestarts(t *testing.T, pod *corev1.Pod, s *samples) {
	t.Helper()
	engine, err := n.container(pod, "engine")
	require.NoError(t, err)
	sidecar, err := n.container(pod, "gpu-dra-exporter")
	require.NoError(t, err)
	require.NotNil(t, sidecar.State.Running)
	began := time.Now()
	_, err = http.Post("http://"+net.JoinHostPort(pod.Status.PodIP, "8000")+"/crash", "", nil)
	require.Error(t, err, "a process that crashes does not answer")
	n.r.eventually("crashed engine runs again and answers", 60*time.Second, func(context.Context) error {
		now, err := n.container(pod, "engine")
		if err != nil {
			return err
		}
		if now.RestartCount != 1 || now.State.Running == nil || now.ContainerID == engine.ContainerID {
			return fmt.Errorf("engine is %+v after %d restarts", now.State, now.RestartCount)
		}
		if ended := now.LastTerminationState.Terminated; ended == nil || ended.ExitCode != 3 {
			return fmt.Errorf("engine ended as %+v, wanted exit code 3", now.LastTerminationState)
		}
		_, err = n.get(pod, "8000", "/")
		return err
	})
	restarted := time.Now()
	n.r.eventually("sample after the restart", 10*time.Second, func(context.Context) error {
		if _, last := s.hole(began, time.Now()); last.asked.Before(restarted) {
			return fmt.Errorf("the last is %v old", time.Since(last.asked))
		}
		return nil
	})
	hole, _ := s.hole(began, time.Now())
	require.Less(t, hole, 4*time.Second)
	now, err := n.container(pod, "gpu-dra-exporter")
	require.NoError(t, err)
	require.Equal(t, sidecar.ContainerID, now.ContainerID)
	require.Equal(t, sidecar.State, now.State, "running since the same time")
	require.Zero(t, now.RestartCount)
}

// exporterCrashes looks at a pod whose exporter has been crashing since its start: the engine serves, drains for as long as it needs
// and ends within its grace period.
func (n *realNode) exporterCrashes(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	r := n.r
	r.eventually("pod "+pod.Name+" runs", 60*time.Second, r.podIs(pod.Namespace, pod.Name, corev1.PodRunning))
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	require.Equal(t, 1, sidecars(pod))
	r.eventually("exporter crashes again and again", 60*time.Second, func(context.Context) error {
		said := n.logs(pod.Namespace, pod.Name, "gpu-dra-exporter")
		if crashes := strings.Count(said, "starting it again"); crashes < 3 || !strings.Contains(said, "crashes in pod "+crashing) {
			return fmt.Errorf("%d crashes in %s", crashes, said)
		}
		return nil
	})
	r.eventually("a scrape gets 503 with the reason", 10*time.Second, func(context.Context) error {
		if _, err := n.get(pod, "9400", "/metrics"); err == nil || !strings.Contains(err.Error(), "503") || !strings.Contains(err.Error(), "exit code 1") {
			return fmt.Errorf("it gets %v", err)
		}
		return nil
	})
	for _, name := range []string{"gpu-dra-exporter", "engine"} {
		s, err := n.container(pod, name)
		require.NoError(t, err)
		require.NotNil(t, s.State.Running, name)
		require.True(t, s.Ready, name)
		require.Zero(t, s.RestartCount, name)
	}
	answer, err := n.get(pod, "8000", "/")
	require.NoError(t, err)
	require.Equal(t, "answer\n", answer)

	began := time.Now()
	working := make(chan time.Duration)
	ctx, stop := context.WithCancel(t.Context())
	go func() {
		var last time.Duration
		for ctx.Err() == nil {
			if page, err := n.get(pod, "8000", "/metrics"); err == nil && strings.Contains(page, "engine_draining 1") {
				last = time.Since(began)
			}
			time.Sleep(100 * time.Millisecond)
		}
		working <- last
	}()
	n.deleted(t, pod)
	ended := time.Since(began)
	stop()
	drained := <-working
	t.Logf("exporter that crashes: engine drained until %.1f s, pod gone after %.1f s", drained.Seconds(), ended.Seconds())
	require.Greater(t, drained, shortDrain-time.Second, "the engine had the time it needs")
	require.Less(t, ended, 30*time.Second, "within the grace period")
}
