package controller

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	"k8s.io/client-go/rest"
)

const goodConfig = `namespace: gpu-dra
distribution: {name: Vanilla, controlPlanePods: {namespace: kube-system, label: component}}
settings: {}
drivers:
  example:
    name: example
    driverName: gpu.example.com
    classes: [{name: gpu.example.com, choice: Any, expression: device.driver == "gpu.example.com"}]
`

// freePort is an address that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

func get(url string) string {
	response, err := http.Get(url)
	if err != nil {
		return err.Error()
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return fmt.Sprint(response.StatusCode, " ", string(body))
}

// A process without a good configuration, or without an API server, stays up and says that it is not ready.
func TestRunWithoutAConfiguration(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	probes := freePort(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{
			ConfigFile: file, MetricsAddress: "0", ProbeAddress: probes, Log: logr.Discard(),
			REST: &rest.Config{Host: "https://" + freePort(t)},
		})
	}()
	answers := func(path, want string) {
		t.Helper()
		require.Eventually(t, func() bool { return get("http://"+probes+path) == want }, 10*time.Second, 20*time.Millisecond, get("http://"+probes+path))
	}
	answers("/healthz", "200 ok\n")
	answers("/readyz", "503 the configuration cannot be read: open "+file+": no such file or directory\n")
	require.NoError(t, os.WriteFile(file, []byte("namespace: ''"), 0o644))
	answers("/readyz", "503 the configuration cannot be read: config.yaml: controller config: namespace: missing, expected the namespace of the controller\n")
	require.NoError(t, os.WriteFile(file, []byte(goodConfig), 0o644))
	answers("/readyz", "503 the cluster was not read yet\n")
	stop()
	requireEnd(t, ended)
}

func TestRunFailsOnAnAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	err = Run(context.Background(), Options{
		ConfigFile: filepath.Join(t.TempDir(), "none"), MetricsAddress: "0", ProbeAddress: taken.Addr().String(), Log: logr.Discard(), REST: &rest.Config{},
	})
	require.ErrorContains(t, err, "probes: ")
}

// The webhook is served as soon as there is a configuration that wants it, leader or not; a process with it is ready only when it
// can be called.
func TestRunServesTheWebhook(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	probes, hook := freePort(t), freePort(t)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	require.NoError(t, os.WriteFile(file, []byte(goodConfig), 0o644))
	go func() {
		ended <- Run(ctx, Options{
			ConfigFile: file, MetricsAddress: "0", ProbeAddress: probes, WebhookAddress: hook, LeaderElect: true, Log: logr.Discard(),
			REST: &rest.Config{Host: "https://" + freePort(t)},
		})
	}()
	ready := func() string { return get("http://" + probes + "/readyz") }
	require.Eventually(t, func() bool { return ready() == "503 the configuration has no block sidecar, which the webhook needs\n" }, 10*time.Second, 20*time.Millisecond, ready())
	with := goodConfig + "sidecar: {image: gpu-dra, webhook: {name: hook, service: service, secret: secret}}\n"
	require.NoError(t, os.WriteFile(file, []byte(with), 0o644))
	require.Eventually(t, func() bool { return strings.HasPrefix(ready(), "503 the webhook") }, 30*time.Second, 20*time.Millisecond, ready())
	require.Eventually(t, func() bool {
		c, err := net.Dial("tcp", hook)
		if err == nil {
			c.Close()
		}
		return err == nil
	}, 10*time.Second, 20*time.Millisecond)
	stop()
	requireEnd(t, ended)
}

// requireEnd waits for a Run that was told to stop.
func requireEnd(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		require.NoError(t, err)
	case <-time.After(30 * time.Second):
		t.Fatal("did not end")
	}
}
