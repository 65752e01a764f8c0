//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// drain is how long the engine works on after SIGTERM.
const drain = 10 * time.Second

// exampleWithSidecar is the example driver's profile with the exporter's stand-in as its exporter. In the pod crashing it does
// nothing but crash.
func exampleWithSidecar(t *testing.T, image string) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "profiles", "drivers", "example.yaml"))
	require.NoError(t, err)
	profile := map[string]any{}
	require.NoError(t, yaml.Unmarshal(raw, &profile))
	repository, tag, _ := strings.Cut(image, ":")
	profile["exporter"] = map[string]any{
		"image": map[string]any{"repository": repository, "tag": tag}, "port": 9400, "command": []any{"/workload", "exporter"},
		// The stand-in does not start without its list, and shows what stands there.
		"config":  map[string]any{"path": "/etc/gpu-dra", "files": map[string]any{"counters.csv": "{counters}"}},
		"metrics": map[string]any{"default": []any{map[string]any{"name": "DCGM_FI_DEV_FB_USED", "type": "gauge", "help": "Memory, in MiB."}}},
		"sidecar": map[string]any{"env": []any{
			map[string]any{"name": "DCGM_EXPORTER_LISTEN", "value": "{listen}"}, map[string]any{"name": "DCGM_EXPORTER_INTERVAL", "value": "{intervalMs}"},
			map[string]any{"name": "DCGM_EXPORTER_COLLECTORS", "value": "{config}/counters.csv"},
			map[string]any{"name": "POD_NAME", "field": "metadata.name"}, map[string]any{"name": "STAND_IN_CRASHES_IN", "value": crashing},
		}},
	}
	custom, err := yaml.Marshal(map[string]any{"customDrivers": []any{profile}})
	require.NoError(t, err)
	return exampleSettings + "exporter: {mode: Sidecar, sidecar: {namespaces: [inference], interval: 1s}}\n" + string(custom)
}

// samples are taken of a pod's exporter once a second, as a scraper does.
type samples struct {
	stop  context.CancelFunc
	mu    sync.Mutex
	taken []time.Time
}

func (s *samples) take(ctx context.Context, n *realNode, pod *corev1.Pod) {
	for ctx.Err() == nil {
		if text, err := n.get(pod, "9400", "/metrics"); err == nil && strings.Contains(text, "DCGM_FI_DEV_FB_USED") {
			s.mu.Lock()
			s.taken = append(s.taken, time.Now())
			s.mu.Unlock()
		}
		time.Sleep(time.Second)
	}
}

// hole is the longest time without a sample between two times, and last when the last one was.
func (s *samples) hole(from, to time.Time) (hole time.Duration, last time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last = from
	for _, at := range s.taken {
		if at.After(from) && at.Before(to) {
			hole = max(hole, at.Sub(last))
			last = at
		}
	}
	return max(hole, to.Sub(last)), last
}

// scraped waits for a pod that was created and begins to scrape it.
func (n *realNode) scraped(t *testing.T, pod *corev1.Pod) *samples {
	t.Helper()
	r := n.r
	r.eventually("pod "+pod.Name+" runs", 90*time.Second, r.podIs(pod.Namespace, pod.Name, corev1.PodRunning))
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	ctx, stop := context.WithCancel(t.Context())
	s := &samples{stop: stop}
	go s.take(ctx, n, pod)
	r.eventually("it is scraped", 30*time.Second, func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.taken) < 2 {
			return fmt.Errorf("%d samples", len(s.taken))
		}
		return nil
	})
	return s
}

// drained deletes a pod whose engine drains and returns how long the pod took to end, when the last sample was taken and the longest
// time without one until then or until the engine had drained, all counted from the deletion.
func (n *realNode) drained(t *testing.T, pod *corev1.Pod, s *samples) (ended, last, hole time.Duration) {
	t.Helper()
	defer s.stop()
	_, err := n.get(pod, "8000", "/")
	require.NoError(t, err)
	began := time.Now()
	n.deleted(t, pod)
	ended = time.Since(began)
	_, at := s.hole(began, time.Now())
	last = at.Sub(began)
	hole, _ = s.hole(began, began.Add(max(last, drain)))
	return ended, last, hole
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

// On a real kubelet: an engine that drains after SIGTERM is scraped until it has exited and once more, then the sidecar ends in
// time. The same exporter as an ordinary container leaves a hole. A Job with the sidecar completes. An engine that crashes is
// started again beside the same sidecar, and an exporter that crashes for ever does not touch the engine.
func TestSidecarLastSample(t *testing.T) {
	t.Parallel()
	r, node := upReal(t)
	node.loadProduct()
	node.loadExample()
	r.create(&corev1.Namespace{ObjectMeta: metaName("inference")})
	r.kubectl("label", "node", node.Name, "accelerator=fake")
	r.install(exampleWithSidecar(t, node.Image))
	r.eventually("driver runs", 90*time.Second, r.driverRuns(plainNamespace, "example", "fake", node.Name))
	r.templatesWritten("fake-gpu", "inference")

	engine := func(name string) *corev1.Pod {
		p := node.workload("inference", name, "engine", "--drain="+drain.String())
		p.Labels = map[string]string{"gpu-dra.deckhouse.io/exporter": "sidecar"}
		p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: ptr.To("fake-gpu")}}
		p.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
		p.Spec.TerminationGracePeriodSeconds = ptr.To[int64](30)
		return p
	}
	// By its Service, as in any cluster: here the controller is a pod.
	r.eventually("the API server reaches the webhook", 90*time.Second, func(ctx context.Context) error {
		p := engine("dry")
		if err := r.client.Create(ctx, p, client.DryRunAll); err != nil || sidecars(p) != 1 {
			return fmt.Errorf("%d sidecars (%v), %v; the API server says:%s", sidecars(p), err, p.Annotations, r.webhookCalls())
		}
		return nil
	})
	doomed := engine(crashing)
	doomed.Spec.Containers[0].Args = []string{"engine", "--drain=" + shortDrain.String()}
	r.create(doomed)
	with := engine("with")
	r.create(with)
	scraped := node.scraped(t, with)
	text, err := node.get(with, "9400", "/metrics")
	require.NoError(t, err)
	require.NotContains(t, text, "DCGM_FI_DEV_GPU_UTIL", "the list is the profile's, not the image's")
	node.engineRestarts(t, with, scraped)
	ended, last, hole := node.drained(t, with, scraped)
	t.Logf("native sidecar: pod gone after %.1f s, last sample at %.1f s, longest time without one %.1f s", ended.Seconds(), last.Seconds(), hole.Seconds())
	require.Equal(t, 1, sidecars(with))
	require.Greater(t, last, drain, "one more sample after the engine has exited")
	require.Less(t, hole, 4*time.Second)
	require.Less(t, ended, 30*time.Second, "within the grace period")
	node.exporterCrashes(t, doomed)

	ordinary := engine("without")
	ordinary.Labels = nil
	exporter := *ordinary.Spec.Containers[0].DeepCopy()
	exporter.Name, exporter.Args = "exporter", []string{"exporter"}
	exporter.Env = []corev1.EnvVar{{Name: "DCGM_EXPORTER_INTERVAL", Value: "1000"}}
	ordinary.Spec.Containers = append(ordinary.Spec.Containers, exporter)
	r.create(ordinary)
	_, last, hole = node.drained(t, ordinary, node.scraped(t, ordinary))
	t.Logf("ordinary container: last sample at %.1f s, longest time without one %.1f s", last.Seconds(), hole.Seconds())
	require.Less(t, last, drain-4*time.Second, "what the sidecar is for")
	require.Greater(t, hole, 4*time.Second)

	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: "job"}}
	template := engine("job")
	template.Spec.Containers[0].Args = []string{"engine", "--life=3s"}
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	job.Spec.Template = corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: template.Labels}, Spec: template.Spec}
	r.create(job)
	r.eventually("a Job with the sidecar completes", 90*time.Second, func(ctx context.Context) error {
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(job), job); err != nil {
			return err
		}
		if job.Status.Succeeded != 1 {
			return fmt.Errorf("status %+v", job.Status)
		}
		return nil
	})
	var pods corev1.PodList
	require.NoError(t, r.client.List(t.Context(), &pods, client.InNamespace("inference"), client.MatchingLabels{"job-name": "job"}))
	require.Len(t, pods.Items, 1)
	require.Equal(t, 1, sidecars(&pods.Items[0]))
	for _, s := range pods.Items[0].Status.InitContainerStatuses {
		require.Zero(t, s.State.Terminated.ExitCode, s.Name)
	}
}

// webhookCalls are what the API server logged of webhooks last.
func (r *rig) webhookCalls() string {
	logs, _ := filepath.Glob(filepath.Join(filepath.Dir(r.kubeconfig()), "logs", "kube-apiserver*"))
	out := ""
	for _, log := range logs {
		data, _ := os.ReadFile(log)
		for _, line := range strings.Split(string(data), "\n") {
			if strings.Contains(line, "failed calling webhook") || strings.Contains(line, "Failed calling webhook") {
				out = "\n" + line
			}
		}
	}
	return out
}
