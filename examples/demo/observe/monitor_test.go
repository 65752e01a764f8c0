package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const monitors = `
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: controller}
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: exporter-sidecars}
spec:
  namespaceSelector: {matchNames: [inference]}
  selector: {matchLabels: {gpu-dra.deckhouse.io/exporter: sidecar}}
  podMetricsEndpoints:
  - port: gpu-metrics
    interval: 5s
    relabelings:
    - {targetLabel: job, replacement: gpu-dra-sidecar}
    - {sourceLabels: [__meta_kubernetes_pod_label_gpu_dra_deckhouse_io_claim], targetLabel: claim}
    - {sourceLabels: [__meta_kubernetes_pod_label_nobody_set], targetLabel: absent}
    - {sourceLabels: [namespace, pod], regex: "other;(.+)", targetLabel: not_matched}
    - {action: labeldrop, regex: container|endpoint}
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func scrapedPod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: "llm", Labels: map[string]string{
			"gpu-dra.deckhouse.io/exporter": "sidecar", "gpu-dra.deckhouse.io/claim": "gpu-16gb-min"}},
		Spec: corev1.PodSpec{NodeName: "real-1", InitContainers: []corev1.Container{{Name: "gpu-dra-exporter",
			Ports: []corev1.ContainerPort{{Name: "gpu-metrics", ContainerPort: 9400}}}}},
		Status: corev1.PodStatus{PodIP: "10.0.0.7"},
	}
}

func TestTargetHasTheLabelsOfThePodMonitor(t *testing.T) {
	m, err := readMonitor(write(t, monitors), "exporter-sidecars")
	require.NoError(t, err)
	got, err := m.target(scrapedPod())
	require.NoError(t, err)
	require.Equal(t, &target{url: "http://10.0.0.7:9400/metrics", interval: 5 * time.Second, labels: map[string]string{
		"instance": "10.0.0.7:9400", "job": "gpu-dra-sidecar", "namespace": "inference", "pod": "llm", "claim": "gpu-16gb-min"}}, got)
}

func TestWhatAPodMonitorDoesNotSelect(t *testing.T) {
	for want, change := range map[string]func(*corev1.Pod){
		"not of elsewhere":              func(p *corev1.Pod) { p.Namespace = "elsewhere" },
		"gpu-dra.deckhouse.io/exporter": func(p *corev1.Pod) { p.Labels = nil },
		`no port "gpu-metrics"`:         func(p *corev1.Pod) { p.Spec.InitContainers = nil },
		"no address yet":                func(p *corev1.Pod) { p.Status.PodIP = "" },
	} {
		m, err := readMonitor(write(t, monitors), "exporter-sidecars")
		require.NoError(t, err)
		pod := scrapedPod()
		change(pod)
		_, err = m.target(pod)
		require.ErrorContains(t, err, want)
	}
}

func TestMonitorsThatCannotBeUsed(t *testing.T) {
	for want, text := range map[string]string{
		"is not there":        "kind: PodMonitor\nmetadata: {name: other}\n",
		"expected one":        "metadata: {name: exporter-sidecars}\n",
		"error converting":    "metadata: [\n",
		"no such file":        "",
		`action "hashmod"`:    strings.Replace(monitors, "action: labeldrop", "action: hashmod", 1),
		"missing argument":    strings.Replace(monitors, "other;(.+)", "*", 1),
		`interval "never" is`: strings.Replace(monitors, "interval: 5s", "interval: never", 1),
	} {
		path := "/nonexistent"
		if text != "" {
			path = write(t, text)
		}
		m, err := readMonitor(path, "exporter-sidecars")
		if err == nil {
			_, err = m.target(scrapedPod())
		}
		require.ErrorContains(t, err, want)
	}
}

// The target's labels win, as the PodMonitor wants it; half an answer is no sample.
func TestScrape(t *testing.T) {
	page := "# TYPE used gauge\nused{gpu=\"0\",pod=\"another\"} 20480\n"
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(page))
	}))
	defer server.Close()
	target := &target{url: server.URL, interval: 5 * time.Second, labels: map[string]string{"pod": "llm", "claim": "c"}}
	before := time.Now()
	got, err := target.scrape(t.Context())
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.Equal(t, map[string]string{"__name__": "used", "gpu": "0", "pod": "llm", "exported_pod": "another", "claim": "c"}, got[0].Labels)
	require.EqualValues(t, 20480, got[0].Value)
	require.WithinRange(t, got[0].At, before, time.Now())

	status = http.StatusServiceUnavailable
	_, err = target.scrape(t.Context())
	require.ErrorContains(t, err, "503")
	status, page = http.StatusOK, "used{gpu=\"0"
	_, err = target.scrape(t.Context())
	require.Error(t, err)
	server.Close()
	_, err = target.scrape(t.Context())
	require.Error(t, err)
}
