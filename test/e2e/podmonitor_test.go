//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

// requireLabels scrapes a pod's sidecar as the chart's PodMonitor says, by the demo's stand-in for Prometheus, and compares the labels
// that every series of the exporter's has then.
func (r *rig) requireLabels(t *testing.T, pod *corev1.Pod, settings string, want map[string]string) {
	t.Helper()
	monitors := r.helm("template", "gpu-dra", chartPackage, "--namespace", plainNamespace, "--kube-version", "1.34.4",
		"--values", r.file("values.yaml", settings), "--set", "monitoring.podMonitor=Always", "--show-only", "templates/monitoring/podmonitors.yaml")
	data, err := json.Marshal(pod)
	require.NoError(t, err)
	samples := filepath.Join(t.TempDir(), "samples")
	// It ends with the context, and has nothing to say before.
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	scrape := exec.CommandContext(ctx, observePath, "scrape", "--monitors", r.file("monitors.yaml", monitors), "--pod", r.file("pod.json", string(data)), "--samples", samples)
	scrape.Cancel = func() error { return scrape.Process.Signal(os.Interrupt) }
	said := &strings.Builder{}
	scrape.Stderr = said
	require.NoError(t, scrape.Start())
	r.eventually("scraped as the PodMonitor says", 30*time.Second, func(context.Context) error {
		_, err := labelsOf(samples, "DCGM_FI_DEV_FB_USED")
		return err
	})
	stop()
	_ = scrape.Wait()
	require.Empty(t, said.String())
	got, err := labelsOf(samples, "DCGM_FI_DEV_FB_USED")
	require.NoError(t, err)
	for name, value := range want {
		require.Equal(t, value, got[name], "label %s among %v", name, got)
	}
}

// labelsOf returns the labels of a metric's first sample.
func labelsOf(path, metric string) (map[string]string, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var s struct{ Labels map[string]string }
		if err := json.Unmarshal(lines.Bytes(), &s); err == nil && s.Labels["__name__"] == metric {
			return s.Labels, nil
		}
	}
	return nil, os.ErrNotExist
}
