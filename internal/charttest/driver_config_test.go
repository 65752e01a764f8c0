package charttest

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
)

func TestTokens(t *testing.T) {
	c := npus(t, npuGroup)
	require.Empty(t, c.Args, "neither gates nor a log level are set")
	require.Equal(t, map[string]string{
		"NODE_NAME": "field spec.nodeName", "POD_UID": "field metadata.uid", "CDI": "/var/run/cdi", "KUBELET": "/var/lib/kubelet/plugins", "ROOT": "/", "PARENT": "/ /",
		"IMAGE": "registry.acme.example/npu:v1.2.3", "NAMESPACE": "gpu-dra-system",
	}, env(t, c), "no pull secret: no variable")

	in := npu + `
imagePullSecrets: [{name: one}, {name: two}]
nodeGroups: [{name: a, drivers: [npu], nodeSelector: {a: b}, kubeletRootDir: /data/kubelet/}]
drivers: {npu: {driverRoot: /run/npu/driver/, logLevel: 0, featureGates: {Share: true, Health: false}}}
`
	ds := daemonSet(t, Options{Values: parse(t, in)}, "driver-npu-a")
	c = ds.Spec.Template.Spec.Containers[0]
	require.Equal(t, []string{"-v=0", "--gates=Health=false,Share=true"}, c.Args)
	got := env(t, c)
	require.Equal(t, "/data/kubelet/plugins", got["KUBELET"])
	require.Equal(t, "/run/npu/driver", got["ROOT"])
	require.Equal(t, "/run/npu driver", got["PARENT"])
	require.Equal(t, "one,two", got["SECRETS"])
	require.Equal(t, []corev1.LocalObjectReference{{Name: "one"}, {Name: "two"}}, ds.Spec.Template.Spec.ImagePullSecrets)
	require.Equal(t, "/data/kubelet/plugins", volumes(ds)["plugins"])
	require.Equal(t, corev1.VolumeMount{Name: "plugins", MountPath: "/data/kubelet/plugins", MountPropagation: ptr(corev1.MountPropagationBidirectional)},
		mounts(c)["plugins"], "in the container as on the host")
	require.Equal(t, "/run/npu/driver/lib", volumes(ds)["root"])
	require.Equal(t, corev1.VolumeMount{Name: "root", MountPath: "/driver", ReadOnly: true}, mounts(c)["root"])
}

// A text that holds a token by chance, or by malice, is the user's: it is not filled in.
func TestTokensOfAUserStayText(t *testing.T) {
	in := "drivers: {npu: {driverRoot: '/a{namespace}', extraEnv: [{name: X, value: '{image}'}]}}"
	got := env(t, daemonSet(t, Options{Values: merge(t, npuGroup, in)}, "driver-npu-a").Spec.Template.Spec.Containers[0])
	require.Equal(t, "/a{namespace}", got["ROOT"])
	require.Equal(t, "{image}", got["X"])
}

func TestGatesInForce(t *testing.T) {
	for name, c := range map[string]struct{ group, drivers, want string }{
		"partitioning":               {"partitioning: Dynamic", "", "Cut=true"},
		"another partitioning":       {"partitioning: Static", "", ""},
		"passthrough":                {"passthrough: true", "", "Pass=true"},
		"both":                       {"partitioning: Dynamic, passthrough: true", "", "Cut=true,Pass=true"},
		"settings with partitioning": {"partitioning: Dynamic", "featureGates: {Share: true}", "Cut=true,Share=true"},
		"group over settings":        {"driverOverrides: {npu: {featureGates: {Share: false}}}", "featureGates: {Share: true, Health: false}", "Health=false,Share=false"},
		"the default, said":          {"", "featureGates: {Health: true}", "Health=true"},
	} {
		t.Run(name, func(t *testing.T) {
			in := npu + "nodeGroups: [{name: a, drivers: [npu], nodeSelector: {a: b}, " + c.group + "}]\ndrivers: {npu: {" + c.drivers + "}}"
			args := npus(t, in).Args
			if c.want == "" {
				require.Empty(t, args)
				return
			}
			require.Equal(t, []string{"--gates=" + c.want}, args)
		})
	}
}

func TestWhen(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	with := func(version, more string) map[string]string {
		o := Options{Values: merge(t, npuGroup, more), KubeVersion: version}
		return env(t, daemonSet(t, o, "driver-npu-a").Spec.Template.Spec.Containers[0])
	}
	require.NotContains(t, with("v1.35.9", ""), "KUBE")
	require.Contains(t, with("v1.36.0-rc.1", ""), "KUBE")
	require.Contains(t, with("v1.34.0", "cluster: {kubernetesVersion: '1.37.2'}"), "KUBE", "what the user knows goes over what Helm says")
	require.Contains(t, with("", "drivers: {npu: {featureGates: {Share: true}}}"), "SHARE")
	for tag, want := range map[string]bool{
		"v1.2.3": false, "1.3.0": true, "v1.3.0-rc.1": true, "v1.3": true, "v2.0.0-ubuntu_22": true, "v1.2.9-1.3.0": false,
		"latest": false, "2026": false, "01.9.9": false,
	} {
		got := with("", "drivers: {npu: {image: {tag: '"+tag+"'}}}")
		require.Equal(t, want, got["NEW"] == "1", "%s: what is no version counts as the profile's own", tag)
	}
	require.NotContains(t, with("", "drivers: {npu: {image: {digest: '"+digest+"'}}}"), "NEW")
	require.Contains(t, with("", "drivers: {npu: {image: {tag: v1.3.0, digest: '"+digest+"'}}}"), "NEW", "the tag says what the digest is")

	c := daemonSet(t, Options{Values: merge(t, npuGroup, "drivers: {npu: {featureGates: {Share: true}}}")}, "driver-npu-a")
	require.Contains(t, mounts(c.Spec.Template.Spec.Containers[0]), "share")
	require.Contains(t, volumes(c), "share")
	require.NotContains(t, volumes(daemonSet(t, Options{Values: parse(t, npuGroup)}, "driver-npu-a")), "share")
}

func TestExtraEnv(t *testing.T) {
	in := npu + `
nodeGroups:
- {name: a, drivers: [npu], nodeSelector: {a: b}}
- {name: b, drivers: [npu], nodeSelector: {a: c}, driverOverrides: {npu: {extraEnv: [{name: B}]}}}
drivers: {npu: {extraEnv: [{name: CDI, value: /mine}, {name: A, value: first}, {name: A, value: last}, {name: NODE_NAME, value: x}]}}
`
	o := Options{Values: parse(t, in)}
	got := env(t, daemonSet(t, o, "driver-npu-a").Spec.Template.Spec.Containers[0])
	require.Equal(t, "/mine", got["CDI"])
	require.Equal(t, "last", got["A"])
	require.Equal(t, "x", got["NODE_NAME"])
	got = env(t, daemonSet(t, o, "driver-npu-b").Spec.Template.Spec.Containers[0])
	require.Contains(t, got, "B")
	require.NotContains(t, got, "A", "an override replaces the key")
}

func TestResources(t *testing.T) {
	in := "drivers: {npu: {resources: {requests: {cpu: 1, memory: 1Gi}, limits: {memory: 2Gi}}}}"
	c := daemonSet(t, Options{Values: merge(t, npuGroup, in)}, "driver-npu-a").Spec.Template.Spec.Containers[0]
	require.Equal(t, "1", c.Resources.Requests.Cpu().String())
	require.Equal(t, "2Gi", c.Resources.Limits.Memory().String())
}

func TestDriverImages(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	for in, want := range map[string]string{
		"imageRegistry: m.local/x":                                                                "m.local/x/npu:v1.2.3",
		"drivers: {npu: {image: {tag: v9}}}":                                                      "registry.acme.example/npu:v9",
		"drivers: {npu: {image: {digest: '" + digest + "'}}}":                                     "registry.acme.example/npu@" + digest,
		"imageRegistry: m.local\ndrivers: {npu: {image: {repository: o.example/b/npu, tag: v9}}}": "m.local/b/npu:v9",
	} {
		c := daemonSet(t, Options{Values: merge(t, npuGroup, in)}, "driver-npu-a").Spec.Template.Spec.Containers[0]
		require.Equal(t, want, c.Image, in)
		require.Equal(t, want, env(t, c)["IMAGE"], "what the driver itself starts comes from there too")
	}
}

func ptr[T any](v T) *T { return &v }
