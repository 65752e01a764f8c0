package gpunode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
)

func TestRuntimeReady(t *testing.T) {
	const yes, no, unknown = "True", "False", "Unknown"
	for runtime, want := range map[string]struct{ status, reason, says string }{
		"containerd://2.2.9":       {yes, condition.NodeCDISupported, ""},
		"containerd://2.0.0-rc.1":  {yes, condition.NodeCDISupported, ""},
		"containerd://1.7.27":      {unknown, condition.NodeCDIOffByDefault, "enable_cdi = true"},
		"containerd://1.7.23-k3s2": {unknown, condition.NodeCDIOffByDefault, "containerd://1.7.23-k3s2 has CDI off"},
		"containerd://v1.6.20":     {no, condition.NodeCDIUnsupported, "use containerd 2.0"},
		"cri-o://1.31.0":           {yes, condition.NodeCDISupported, ""},
		"cri-o://1.22.1":           {no, condition.NodeCDIUnsupported, "use containerd 2.0 or CRI-O 1.23"},
		"docker://24.0.1":          {no, condition.NodeCDIUnsupported, "docker://24.0.1 cannot inject"},
		"docker://28.3.0":          {unknown, condition.NodeRuntimeUnknown, "cri-dockerd"},
		"isula://2.1.5":            {unknown, condition.NodeRuntimeUnknown, "look into a pod with a claim"},
		"containerd://Unknown":     {unknown, condition.NodeRuntimeUnknown, "does not tell"},
		"kwok-v0.8.0":              {unknown, condition.NodeRuntimeUnknown, "does not tell"},
		"":                         {unknown, condition.NodeRuntimeUnknown, `container runtime ""`},
	} {
		in := input(t)
		in.Node.Status.NodeInfo.ContainerRuntimeVersion = runtime
		s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
		c := condition.Find(s.Conditions, condition.RuntimeReady)
		require.Equal(t, want.status+" "+want.reason, string(c.Status)+" "+c.Reason, runtime)
		require.Contains(t, c.Message, want.says)
		require.Equal(t, c.Status, s.Runtime.CDI, runtime)
		if want.reason != condition.NodeRuntimeUnknown || runtime == "isula://2.1.5" {
			require.NotContains(t, c.Message, "cri-dockerd", runtime)
		}
	}
}
