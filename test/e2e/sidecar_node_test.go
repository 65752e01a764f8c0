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
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// drain is how long the engine of the demo's pod works on after SIGTERM.
const drain = 10 * time.Second

// On a real kubelet: an engine that drains after SIGTERM is scraped until it has exited and once more, then the sidecar ends in
// time. The same exporter as an ordinary container leaves a hole. A Job with the sidecar completes. An engine that crashes is
// started again beside the same sidecar, and an exporter that crashes for ever does not touch the engine.
func TestSidecarLastSample(t *testing.T) {
	t.Parallel()
	r, node := upReal(t)
	node.loadProduct()
	node.loadExample()
	r.create(&corev1.Namespace{ObjectMeta: metaName("inference")})
	r.kubectl("label", "node", node.Name, "accelerator=example")
	// In the pod crashing the exporter does nothing but crash.
	settings := demoSettings(t, tree{"name": "POD_NAME", "field": "metadata.name"}, tree{"name": "STAND_IN_CRASHES_IN", "value": crashing})
	r.install(settings)
	r.eventually("driver runs", 90*time.Second, r.driverRuns(plainNamespace, "example", "example", node.Name))
	r.templatesWritten("gpu-16gb-min", "inference")
	versions := r.record(corev1.SchemeGroupVersion.WithKind("Pod"))

	// By its Service, as in any cluster: here the controller is a pod.
	r.eventually("the API server reaches the webhook", 90*time.Second, func(ctx context.Context) error {
		p := demoPod(t, "dry")
		if err := r.client.Create(ctx, p, client.DryRunAll); err != nil || sidecars(p) != 1 {
			return fmt.Errorf("%d sidecars (%v), %v; the API server says:%s", sidecars(p), err, p.Annotations, r.webhookCalls())
		}
		return nil
	})
	doomed := demoPod(t, crashing)
	doomed.Spec.Containers[0].Args = []string{"engine", "--drain=" + shortDrain.String()}
	r.create(doomed)
	with := demoPod(t, "with")
	require.Equal(t, []string{"engine", "--drain=" + drain.String()}, with.Spec.Containers[0].Args)
	r.create(with)
	scraped := node.scraped(t, with)
	require.Equal(t, 1, sidecars(with))
	text, err := node.get(with, "9400", "/metrics")
	require.NoError(t, err)
	require.Contains(t, text, "DCGM_FI_DEV_GPU_UTIL")
	require.NotContains(t, text, "DCGM_FI_DEV_SM_CLOCK", "the list is the profile's, not the image's")
	r.requireLabels(t, with, settings, map[string]string{"namespace": "inference", "pod": "with", "container": "", "node": node.Name,
		"claim": "gpu-16gb-min", "job": "gpu-dra-sidecar"})
	node.engineRestarts(t, with, scraped)
	end := node.ends(t, with, "gpu-dra-exporter", scraped, versions)
	end.requireLastSample(t, time.Duration(*with.Spec.TerminationGracePeriodSeconds)*time.Second)
	require.Greater(t, end.last.asked.Sub(end.deleted), drain)
	node.exporterCrashes(t, doomed)

	ordinary := demoPod(t, "without")
	ordinary.Labels = nil
	exporter := *ordinary.Spec.Containers[0].DeepCopy()
	exporter.Name, exporter.Args, exporter.Ports = "exporter", []string{"exporter"}, nil
	exporter.Env = []corev1.EnvVar{{Name: "DCGM_EXPORTER_INTERVAL", Value: "1000"}}
	ordinary.Spec.Containers = append(ordinary.Spec.Containers, exporter)
	r.create(ordinary)
	end = node.ends(t, ordinary, "exporter", node.scraped(t, ordinary), versions)
	require.Less(t, end.last.asked.Sub(end.deleted), drain-4*time.Second, "what the sidecar is for")
	require.True(t, end.last.asked.Before(end.drained(t)))
	require.Greater(t, end.hole, 4*time.Second)

	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: "job"}}
	template := demoPod(t, "job")
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
