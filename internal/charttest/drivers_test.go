package charttest

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/internal/gpunode"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// What a driver's pod is on a node, with nothing in the settings but the group.
func TestDriverDaemonSet(t *testing.T) {
	ds := daemonSet(t, Options{Values: parse(t, npuGroup)}, "driver-npu-a")
	for key, want := range map[string]string{
		"gpu-dra.deckhouse.io/driver": "npu", "gpu-dra.deckhouse.io/node-group": "a", "app.kubernetes.io/component": "driver-npu",
	} {
		require.Equal(t, want, ds.Labels[key])
		require.Equal(t, want, ds.Spec.Template.Labels[key])
	}
	selector, err := metav1.LabelSelectorAsMap(ds.Spec.Selector)
	require.NoError(t, err)
	require.Subset(t, ds.Spec.Template.Labels, selector)
	require.Equal(t, "a", selector["gpu-dra.deckhouse.io/node-group"], "or two groups would fight for pods")
	require.LessOrEqual(t, *ds.Spec.RevisionHistoryLimit, int32(2))

	pod := ds.Spec.Template.Spec
	require.Equal(t, "driver-npu-a", pod.ServiceAccountName)
	require.True(t, *pod.AutomountServiceAccountToken)
	require.Equal(t, "system-node-critical", pod.PriorityClassName)
	require.Equal(t, map[string]string{"a": "b"}, pod.NodeSelector)
	require.Equal(t, []corev1.Toleration{{Key: "acme.example/npu", Operator: corev1.TolerationOpExists}}, pod.Tolerations)
	require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC)

	require.Len(t, pod.Containers, 1, "links are for compute domains")
	c := pod.Containers[0]
	require.Equal(t, "registry.acme.example/npu:v1.2.3", c.Image)
	require.Equal(t, []string{"npu-plugin"}, c.Command)
	require.True(t, *c.SecurityContext.Privileged)
	require.False(t, *c.SecurityContext.ReadOnlyRootFilesystem)
	require.Equal(t, "10m", c.Resources.Requests.Cpu().String())
	for _, p := range []*corev1.Probe{c.StartupProbe, c.LivenessProbe} {
		require.Equal(t, int32(51515), p.GRPC.Port)
		require.Equal(t, "liveness", *p.GRPC.Service)
	}
	require.Equal(t, []corev1.ContainerPort{{Name: "health", ContainerPort: 51515}, {Name: "metrics", ContainerPort: 8080}}, c.Ports)
}

func TestContainerWithoutPrivileges(t *testing.T) {
	pod := daemonSet(t, Options{Values: merge(t, npuGroup, "drivers: {npu: {computeDomains: true}}")}, "driver-npu-a").Spec.Template.Spec
	require.Len(t, pod.Containers, 2)
	c := pod.Containers[1]
	require.Equal(t, "links", c.Name)
	require.Nil(t, c.SecurityContext.Privileged)
	require.False(t, *c.SecurityContext.AllowPrivilegeEscalation)
	require.True(t, *c.SecurityContext.ReadOnlyRootFilesystem)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, c.SecurityContext.SeccompProfile.Type)
	require.Equal(t, &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}, Add: []corev1.Capability{"SYS_ADMIN"}}, c.SecurityContext.Capabilities)
	require.NotEmpty(t, c.Resources.Requests)
	require.NotEqual(t, pod.Containers[0].Ports[0].Name, c.Ports[0].Name, "a port's name is the pod's")
}

// The label of a node goes over the setting of its group, with the words that the controller takes.
func TestPassiveNodes(t *testing.T) {
	for passive, want := range map[string]corev1.NodeSelectorRequirement{
		"false": {Operator: corev1.NodeSelectorOpNotIn, Values: gpunode.PassiveYes},
		"true":  {Operator: corev1.NodeSelectorOpIn, Values: gpunode.PassiveNo},
	} {
		in := npu + "nodeGroups: [{name: a, drivers: [npu], nodeSelector: {a: b}, passive: " + passive + "}]"
		terms := daemonSet(t, Options{Values: parse(t, in)}, "driver-npu-a").Spec.Template.Spec.Affinity.
			NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
		want.Key = "gpu-dra.deckhouse.io/passive"
		require.Equal(t, []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{want}}}, terms)
	}
}

// A node in two groups runs the driver of one; a pod of the same group may stand beside the one it replaces.
func TestGroupsKeepApart(t *testing.T) {
	in := npu + "nodeGroups: [{name: a, drivers: [npu, example], nodeSelector: {a: b}}, {name: b, drivers: [npu], nodeSelector: {a: c}}]"
	all := objects(t, Options{Values: parse(t, in)})
	repels := func(of, other string) bool {
		terms := Find[*appsv1.DaemonSet](all, of).Spec.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
		require.Len(t, terms, 1)
		require.Equal(t, corev1.LabelHostname, terms[0].TopologyKey)
		selector, err := metav1.LabelSelectorAsSelector(terms[0].LabelSelector)
		require.NoError(t, err)
		return selector.Matches(labelsOf(Find[*appsv1.DaemonSet](all, other).Spec.Template.Labels))
	}
	require.True(t, repels("driver-npu-a", "driver-npu-b"))
	require.True(t, repels("driver-npu-b", "driver-npu-a"))
	require.False(t, repels("driver-npu-a", "driver-npu-a"))
	require.False(t, repels("driver-npu-a", "driver-example-a"), "another driver")
}

// Only a plugin whose sockets carry the pod's uid can run twice on a node.
func TestUpdateStrategy(t *testing.T) {
	update := func(in, name string) (surge, unavailable string) {
		u := daemonSet(t, Options{Values: parse(t, in)}, name).Spec.UpdateStrategy.RollingUpdate
		return u.MaxSurge.String(), u.MaxUnavailable.String()
	}
	surge, unavailable := update(npuGroup, "driver-npu-a")
	require.Equal(t, []string{"1", "0"}, []string{surge, unavailable})
	surge, unavailable = update(group, "driver-example-a")
	require.Equal(t, "0", surge)
	require.NotEqual(t, "0", unavailable)
}

// Changing settings of one group touches what is labelled with it, and the file and digest of the controller: what its pods may then do,
// those of other groups may not.
func TestOverrideOfOneGroupChangesNothingElse(t *testing.T) {
	const (
		controllers = "*v1.ConfigMap gpu-dra-system/controller-config, *v1.Deployment gpu-dra-system/controller"
		pods        = "*v1.DaemonSet gpu-dra-system/driver-npu-a"
		exception   = "*unstructured.Unstructured d8-gpu-dra/driver-npu-a"
	)
	groups := func(override string) string {
		return npu + "nodeGroups:\n- {name: a, drivers: [npu, example], nodeSelector: {a: b}" + override + "}\n" +
			"- {name: b, drivers: [npu], nodeSelector: {a: c}}\n"
	}
	plain := func(override string) []client.Object { return objects(t, Options{Values: parse(t, groups(override))}) }
	module := func(override string) []client.Object {
		o := hooks(t, groups(override), values.NodeGroup{})
		o.APIVersions = []string{exceptionAPI}
		return objects(t, o)
	}
	for _, c := range []struct {
		override string
		// own are the objects of the group that differ besides its pods.
		own []string
		// asks: the pods ask for something else of a node.
		asks bool
	}{
		{override: ", driverOverrides: {npu: {featureGates: {Health: false}}}"},
		{override: ", partitioning: Dynamic"},
		{override: ", passthrough: true"},
		{override: ", driverOverrides: {npu: {logLevel: 6, image: {tag: v1.2.4}, driverRoot: /run/npu}}", asks: true},
		{override: ", driverOverrides: {npu: {featureGates: {Share: true}}}", own: []string{"*v1.Role %s/driver-npu:a", "*v1.RoleBinding %s/driver-npu:a"}, asks: true},
		{override: ", driverOverrides: {npu: {computeDomains: true}}", own: []string{"*v1.ClusterRole /%s:driver-npu:a", "*v1.ClusterRoleBinding /%s:driver-npu:a"}, asks: true},
	} {
		for namespace, render := range map[string]func(string) []client.Object{"gpu-dra-system": plain, "d8-gpu-dra": module} {
			want := strings.Split(strings.ReplaceAll(controllers+", "+pods, "gpu-dra-system", namespace), ", ")
			if c.asks && namespace == "d8-gpu-dra" {
				want = append(want, exception)
			}
			for _, id := range c.own {
				place := namespace
				if strings.HasPrefix(id, "*v1.ClusterRole") {
					place = map[string]string{"gpu-dra-system": "gpu-dra", "d8-gpu-dra": "d8:gpu-dra"}[namespace]
				}
				want = append(want, fmt.Sprintf(id, place))
			}
			before, list := byID(t, render("")), render(c.override)
			after := byID(t, list)
			changed := map[string]bool{}
			for id := range before {
				changed[id] = after[id] != before[id]
			}
			for id := range after {
				changed[id] = after[id] != before[id]
			}
			maps.DeleteFunc(changed, func(_ string, differs bool) bool { return !differs })
			require.ElementsMatch(t, want, slices.Collect(maps.Keys(changed)), "%s in %s", c.override, namespace)
			for _, o := range list {
				id := fmt.Sprintf("%T %s/%s", o, o.GetNamespace(), o.GetName())
				if changed[id] && !slices.Contains(want[:2], id) {
					require.Equal(t, "a", o.GetLabels()["gpu-dra.deckhouse.io/node-group"], id)
				}
			}
		}
	}
}

// Every profile that the chart carries makes pods that a kubelet can start: unique names, volumes that are there, absolute paths.
func TestEveryProfileMakesAPod(t *testing.T) {
	t.Parallel()
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	deployed := 0
	for _, d := range builtin {
		name, level := d.Name, ""
		if d.Plugin.TakesLogLevel() {
			level = ", logLevel: 4"
		}
		for _, more := range []string{"", "partitioning: Dynamic", "passthrough: true"} {
			in := "nodeGroups: [{name: a, drivers: [" + name + "], nodeSelector: {a: b}, " + more + "}]\n" +
				"drivers: {" + name + ": {computeDomains: true, driverRoot: /run/driver/" + level + "}}"
			// Not every driver has something for virtual machines, or cuts cards by itself.
			if said := refusal(t, Options{Values: parse(t, in)}); more != "" && strings.Contains(said, "nodeGroups[0].") {
				continue
			}
			ds := Find[*appsv1.DaemonSet](objects(t, Options{Values: parse(t, in)}), "driver-"+name+"-a")
			if ds == nil {
				continue
			}
			deployed++
			usable(t, ds)
		}
	}
	require.NotZero(t, deployed)
}

func usable(t *testing.T, ds *appsv1.DaemonSet) {
	t.Helper()
	pod := ds.Spec.Template.Spec
	hosts := volumes(ds)
	for _, path := range hosts {
		require.Regexp(t, `^/([^/{}]+(/[^/{}]+)*)?$`, path)
	}
	ports, used := map[int32]bool{}, map[string]bool{}
	for _, c := range append(slices.Clone(pod.InitContainers), pod.Containers...) {
		paths := map[string]bool{}
		for _, m := range c.VolumeMounts {
			require.Contains(t, hosts, m.Name)
			require.Regexp(t, `^/([^/{}]+(/[^/{}]+)*)?$`, m.MountPath)
			require.False(t, paths[m.MountPath], m.MountPath)
			paths[m.MountPath], used[m.Name] = true, true
		}
		for _, v := range append(slices.Concat(c.Args, c.Command), env(t, c)["FEATURE_GATES"]) {
			require.NotRegexp(t, `\{[a-zA-Z]+\}`, v)
		}
		for _, p := range c.Ports {
			require.False(t, ports[p.ContainerPort], "%s: port %d", c.Name, p.ContainerPort)
			ports[p.ContainerPort] = true
		}
	}
	require.Len(t, used, len(hosts), "a volume that nobody mounts")
}
