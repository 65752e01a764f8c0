package controller

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/klog/v2"

	"github.com/gpu-dra/gpu-dra/internal/cli"
)

// The chart's Deployment passes these flags: their names and meanings are an interface.
func TestFlags(t *testing.T) {
	c := New()
	for flag, want := range map[string]string{
		"config": "/etc/gpu-dra/config.yaml", "leader-elect": "true", "metrics-bind-address": ":8080", "health-probe-bind-address": ":8081",
		"webhook-bind-address": "0",
	} {
		f := c.Flags().Lookup(flag)
		require.NotNil(t, f, flag)
		require.Equal(t, want, f.DefValue)
	}
}

func TestNoAPIServerIsAFailureOfTheCommand(t *testing.T) {
	c := New()
	c.SetArgs([]string{"--kubeconfig", filepath.Join(t.TempDir(), "none")})
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.Execute()
	require.ErrorContains(t, err, "where the API server is: ")
	require.Equal(t, cli.ExitFailed, cli.ExitCode(err))
}

func TestLogIsJSON(t *testing.T) {
	defer klog.ClearLogger()
	var out bytes.Buffer
	log := logger(&out, 0)
	log.Info("said", "key", "value")
	log.V(1).Info("not said")
	var line map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &line), out.String())
	require.Equal(t, "said", line["msg"])
	require.Equal(t, "value", line["key"])

	out.Reset()
	logger(&out, 2).V(2).Info("said too")
	require.Contains(t, out.String(), "said too")
}
