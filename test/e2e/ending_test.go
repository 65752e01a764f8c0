//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ending is how a pod with an engine and an exporter ended, by what each of them says: the containers' logs, the kubelet's last
// status of them, and the scraper.
type ending struct {
	// deleted is when that was asked for, gone when the pod was no more.
	deleted, gone time.Time
	// engine and exporter are their logs.
	engine, exporter []logLine
	// engineExit and exporterExit are in whole seconds.
	engineExit, exporterExit corev1.ContainerStateTerminated
	// last is the last sample, hole the longest time without one until then, or until the engine's last line.
	last sample
	hole time.Duration
}

// ends deletes a pod while its engine, which drains, is at a request.
func (n *realNode) ends(t *testing.T, pod *corev1.Pod, exporter string, s *samples, pods *history) ending {
	t.Helper()
	defer s.stop()
	engine, beside := n.follow(t, pod, "engine"), n.follow(t, pod, exporter)
	answered := make(chan error, 1)
	go func() {
		answer, err := n.get(pod, "8000", "/?takes=3s")
		if err == nil && answer != "answer\n" {
			err = fmt.Errorf("found %q", answer)
		}
		answered <- err
	}()
	n.r.eventually("a request is under way", 10*time.Second, func(context.Context) error {
		if last := engine.last().text; !strings.Contains(last, " request ") || strings.HasSuffix(last, "answered") {
			return fmt.Errorf("engine's last line: %q", last)
		}
		return nil
	})
	e := ending{deleted: time.Now()}
	n.deleted(t, pod)
	e.gone = time.Now()
	require.NoError(t, <-answered, "the request that was under way")
	e.engine, e.exporter = engine.all(t), beside.all(t)
	n.r.eventually("the last status says how the containers ended", 10*time.Second, func(context.Context) (err error) {
		if e.engineExit, err = exitOf(pods, pod.Name, "engine"); err == nil {
			e.exporterExit, err = exitOf(pods, pod.Name, exporter)
		}
		return err
	})
	_, e.last = s.hole(e.deleted, e.gone)
	until := e.drained(t)
	if e.last.asked.After(until) {
		until = e.last.asked
	}
	e.hole, _ = s.hole(e.deleted, until)
	since := func(at time.Time) string { return fmt.Sprintf("%.3f s", at.Sub(e.deleted).Seconds()) }
	t.Logf("pod %s: last request answered at %s, engine drained at %s, last sample asked for at %s, pod gone at %s, longest time without a sample %.1f s; engine exited at %s, %s at %s",
		pod.Name, since(saying(t, e.engine, " answered").at), since(e.drained(t)), since(e.last.asked), since(e.gone), e.hole.Seconds(),
		e.engineExit.FinishedAt.UTC().Format(time.TimeOnly), exporter, e.exporterExit.FinishedAt.UTC().Format(time.TimeOnly))
	return e
}

// drained is when the engine wrote its last line, after which it exited.
func (e *ending) drained(t *testing.T) time.Time {
	t.Helper()
	require.NotEmpty(t, e.engine)
	last := e.engine[len(e.engine)-1]
	require.True(t, strings.HasSuffix(last.text, " drained"), "the engine's last line: %q", last.text)
	return last.at
}

// requireLastSample checks what a sidecar is for: it was asked for a sample after the engine had exited, it knows that, and it ended
// then, within the grace period.
func (e *ending) requireLastSample(t *testing.T, grace time.Duration) {
	t.Helper()
	asked := e.last.asked
	answered := saying(t, e.engine, " answered").at
	require.True(t, asked.After(answered), "the last sample was asked for at %s, the last request answered at %s", asked, answered)
	require.True(t, asked.After(e.drained(t)), "the last sample was asked for at %s, the engine wrote its last line at %s", asked, e.drained(t))
	require.False(t, asked.Before(e.engineExit.FinishedAt.Time), "the last sample was asked for at %s, the engine exited at %s", asked, e.engineExit.FinishedAt)
	over := saying(t, e.exporter, "the work of the pod is over").at
	require.True(t, over.After(e.drained(t)), "the sidecar was told at %s, before the engine's last line", over)
	// A line is noted some moments after it was written.
	require.True(t, e.last.answered.After(over.Add(-50*time.Millisecond)), "the last sample was given at %s, before the sidecar was told at %s", e.last.answered, over)
	taken := saying(t, e.exporter, "the last sample was taken")
	require.NotContains(t, taken.text, "after 0s", "a sample takes its time")
	require.True(t, taken.at.After(asked), "the sidecar says at %s that the last sample was taken, and one was asked for at %s", taken.at, asked)
	require.Zero(t, e.engineExit.ExitCode)
	require.Zero(t, e.exporterExit.ExitCode)
	require.False(t, e.exporterExit.FinishedAt.Time.Before(e.engineExit.FinishedAt.Time), "sidecar %v, engine %v", e.exporterExit, e.engineExit)
	require.Less(t, e.exporterExit.FinishedAt.Sub(e.deleted), grace, "the sidecar ended within the grace period")
	require.Less(t, e.gone.Sub(e.deleted), grace)
	require.Less(t, e.hole, 4*time.Second)
}

// exitOf is how a container of a pod ended, by the newest version of the pod that knows it.
func exitOf(pods *history, name, container string) (corev1.ContainerStateTerminated, error) {
	versions := pods.of(name)
	for i := len(versions) - 1; i >= 0; i-- {
		var pod corev1.Pod
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(versions[i].Object, &pod); err != nil {
			return corev1.ContainerStateTerminated{}, err
		}
		for _, s := range append(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses...) {
			if s.Name == container && s.State.Terminated != nil {
				return *s.State.Terminated, nil
			}
		}
	}
	return corev1.ContainerStateTerminated{}, fmt.Errorf("none of the %d versions of pod %s says how container %s ended", len(versions), name, container)
}

// deleted deletes a pod and waits until it is gone.
func (n *realNode) deleted(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	require.NoError(t, n.r.client.Delete(t.Context(), pod))
	n.r.eventually("pod "+pod.Name+" is gone", 60*time.Second, func(ctx context.Context) error {
		if err := n.r.client.Get(ctx, client.ObjectKeyFromObject(pod), &corev1.Pod{}); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("still there (%v)", err)
		}
		return nil
	})
}
