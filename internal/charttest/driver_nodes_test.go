package charttest

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/gpu-dra/gpu-dra/internal/values"
)

func labelsOf(m map[string]string) labels.Set { return m }

// hooks renders as addon-operator does, with what hooks found out of the group a.
func hooks(t testing.TB, in string, a values.NodeGroup) Options {
	t.Helper()
	a.Name = "a"
	return Options{Values: underHooks(t, parse(t, in), values.Internal{NodeGroups: []values.NodeGroup{a}}), Namespace: "d8-system",
		APIVersions: []string{"autoscaling.k8s.io/v1/VerticalPodAutoscaler"}}
}

// Under hooks selector, taints and the root directory of the kubelet are the NodeGroup's.
func TestNodesOfANodeGroup(t *testing.T) {
	in := npu + "nodeGroups: [{name: a, drivers: [npu], tolerations: [{key: mine, operator: Exists}]}]\n"
	seconds := int64(60)
	taint := corev1.Toleration{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "gpu", Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &seconds}
	mine := corev1.Toleration{Key: "mine", Operator: corev1.TolerationOpExists}
	own := corev1.Toleration{Key: "acme.example/npu", Operator: corev1.TolerationOpExists}
	o := hooks(t, in, values.NodeGroup{Found: true, NodeSelector: map[string]string{"pool": "x"}, KubeletRootDir: "/data/kubelet",
		Tolerations: []corev1.Toleration{taint, mine, own}})
	ds := daemonSet(t, o, "driver-npu-a")
	require.Equal(t, "d8-gpu-dra", ds.Namespace)
	require.Equal(t, map[string]string{"pool": "x"}, ds.Spec.Template.Spec.NodeSelector)
	require.Equal(t, []corev1.Toleration{taint, mine, own}, ds.Spec.Template.Spec.Tolerations, "each once")
	require.Equal(t, "/data/kubelet/plugins", volumes(ds)["plugins"])

	// The first converge: the hook knows nothing yet, and drivers run where the distribution says.
	ds = daemonSet(t, Options{Values: underHooks(t, parse(t, in), values.Internal{})}, "driver-npu-a")
	require.Equal(t, map[string]string{"node.deckhouse.io/group": "a"}, ds.Spec.Template.Spec.NodeSelector)
	require.Equal(t, []corev1.Toleration{mine, own}, ds.Spec.Template.Spec.Tolerations)
	require.Equal(t, "/var/lib/kubelet/plugins", volumes(ds)["plugins"])
}

// A plugin that cannot be told where the kubelet is works with one directory only. That the group's is another is a condition of the
// GPUNodeGroup (TestKubeletRootThatThePluginCannotUse of hooks/nodegroups): a render does not fail for what a NodeGroup says.
func TestFixedKubeletRoot(t *testing.T) {
	in := npu + "nodeGroups: [{name: a, drivers: [npu]}]\n"
	v := parse(t, in)
	v["customDrivers"].([]any)[0].(map[string]any)["plugin"].(map[string]any)["kubeletRoot"] = "/var/lib/kubelet"
	internal := values.Internal{NodeGroups: []values.NodeGroup{{Name: "a", KubeletRootDir: "/data/kubelet"}}}
	ds := daemonSet(t, Options{Values: underHooks(t, v, internal)}, "driver-npu-a")
	require.Equal(t, "/var/lib/kubelet/plugins", volumes(ds)["plugins"])
}

func TestGuard(t *testing.T) {
	guard := func(o Options) (corev1.Container, *appsv1.DaemonSet) {
		ds := daemonSet(t, o, "driver-npu-a")
		pod := ds.Spec.Template.Spec
		require.Len(t, pod.InitContainers, 1)
		require.Equal(t, "guard", pod.InitContainers[0].Name)
		return pod.InitContainers[0], ds
	}
	c, ds := guard(Options{Values: parse(t, npuGroup)})
	require.Equal(t, "ghcr.io/gpu-dra/gpu-dra:v0.1.0", c.Image)
	require.Equal(t, []string{"guard", "--node=$(NODE_NAME)", "--plugin-resource=acme.example/npu", "--plugin-resource=acme.example/part-*",
		"--manager-label=acme.example/operator", "--manager-label=acme.example/mode=plugin,both",
		"--wait-for=library=/host/lib/libnpu.so,/host/lib64/libnpu.so", "--wait-for=device=/host/dev/npu0"}, c.Args)
	require.Equal(t, map[string]string{"NODE_NAME": "field spec.nodeName"}, env(t, c))
	require.True(t, *c.SecurityContext.RunAsNonRoot)
	require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
	require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
	require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, c.SecurityContext.SeccompProfile.Type)
	require.Len(t, c.VolumeMounts, 2)
	for _, m := range c.VolumeMounts {
		require.True(t, m.ReadOnly)
		require.Equal(t, corev1.MountPropagationHostToContainer, *m.MountPropagation)
		require.Equal(t, map[string]string{"/host": "/", "/host/dev": "/dev"}[m.MountPath], volumes(ds)[m.Name])
	}

	c, ds = guard(Options{Values: merge(t, npuGroup, "drivers: {npu: {driverRoot: /run/npu/driver}}")})
	require.Contains(t, c.Args, "--wait-for=library=/host/run/npu/driver/lib/libnpu.so,/host/run/npu/driver/lib64/libnpu.so")
	require.Contains(t, volumes(ds)[c.VolumeMounts[1].Name]+volumes(ds)[c.VolumeMounts[0].Name], "/run/npu", "the parent: the root comes later")

	// Managers that only the distribution knows.
	c, _ = guard(hooks(t, npu+"nodeGroups: [{name: a, drivers: [npu]}]", values.NodeGroup{}))
	require.Contains(t, c.Args, "--manager-label=node.deckhouse.io/gpu")
	require.Contains(t, c.Args, "--manager-label=acme.example/operator")
}

// One image for the guard and the controller, from the same registry.
func TestGuardHasTheImageOfTheController(t *testing.T) {
	all := objects(t, Options{Values: merge(t, npuGroup, "imageRegistry: m.local\ncontroller: {image: {tag: v7}}")})
	want := Find[*appsv1.Deployment](all, "controller").Spec.Template.Spec.Containers[0].Image
	require.Equal(t, "m.local/gpu-dra/gpu-dra:v7", want)
	require.Equal(t, want, Find[*appsv1.DaemonSet](all, "driver-npu-a").Spec.Template.Spec.InitContainers[0].Image)
}

func TestNamespaceOfDrivers(t *testing.T) {
	labels := func(in string) map[string]string {
		return Find[*corev1.Namespace](objects(t, hooks(t, in, values.NodeGroup{})), "d8-gpu-dra").Labels
	}
	got := labels(npu + "nodeGroups: [{name: a, drivers: [npu]}]")
	require.Equal(t, "privileged", got["pod-security.kubernetes.io/enforce"])
	require.Equal(t, "privileged", got["security.deckhouse.io/pod-policy"])
	require.NotContains(t, labels("nodeGroups: []"), "pod-security.kubernetes.io/enforce", "nothing here needs it")
}
