package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/testing/framework"
	"github.com/deckhouse/module-sdk/testing/helpers"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/dynamic"
	clienttesting "k8s.io/client-go/testing"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/hooktest"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

const (
	root    = "../.."
	written = `
nodeGroups: [{name: gpu, drivers: [nvidia, nobody]}]
deviceClasses:
  classes: {mig.nvidia.com: {create: Never}}
  extra: [{name: own.example.com, selectors: ["true"]}]
`
)

var monitoring = []*metav1.APIResourceList{
	{GroupVersion: "monitoring.coreos.com/v1", APIResources: []metav1.APIResource{{Name: "podmonitors"}, {Name: "prometheusrules"}}},
	{GroupVersion: "deckhouse.io/v1", APIResources: []metav1.APIResource{{Name: "nodegroups"}, {Name: "grafanadashboarddefinitions"}}},
}

type world struct {
	*framework.HookExecutionConfig
	t         *testing.T
	cluster   dynamic.Interface
	discovery *fakediscovery.FakeDiscovery
	fail      error
}

func newWorld(t *testing.T, settings string) *world {
	w := &world{t: t, discovery: &fakediscovery.FakeDiscovery{Fake: &clienttesting.Fake{}}}
	h := hook{discovery: func() (discovery.DiscoveryInterface, error) { return w.discovery, w.fail }}
	w.HookExecutionConfig = framework.NewHookExecutionConfig(t, config, h.run,
		framework.WithInitialValues(hooktest.Values(t, root, settings)),
		framework.WithCRD(v1alpha1.Group, "v1alpha1", "GPUStack", false),
		framework.WithCRD("resource.k8s.io", "v1", "DeviceClass", false))
	c, err := w.DependencyContainer().GetK8sClient()
	require.NoError(t, err)
	w.cluster = c.Dynamic()
	return w
}

func (w *world) put(resource schema.GroupVersionResource, object runtime.Object) {
	w.t.Helper()
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	require.NoError(w.t, err)
	u := &unstructured.Unstructured{Object: content}
	if _, err := w.cluster.Resource(resource).Create(context.Background(), u, metav1.CreateOptions{}); err != nil {
		_, err = w.cluster.Resource(resource).Update(context.Background(), u, metav1.UpdateOptions{})
		require.NoError(w.t, err)
	}
}

func (w *world) putStack(status v1alpha1.GPUStackStatus) {
	w.t.Helper()
	w.put(stacks, &v1alpha1.GPUStack{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUStack"},
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StackName}, Status: status,
	})
}

var (
	stacks  = v1alpha1.GroupVersion.WithResource("gpustacks")
	classes = schema.GroupVersionResource{Group: "resource.k8s.io", Version: "v1", Resource: "deviceclasses"}
)

func class(name string, labels, annotations map[string]string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetAPIVersion("resource.k8s.io/v1")
	u.SetKind("DeviceClass")
	u.SetName(name)
	u.SetLabels(labels)
	u.SetAnnotations(annotations)
	return u
}

func (w *world) run() values.Cluster {
	w.t.Helper()
	w.RunHook()
	require.NoError(w.t, w.HookError())
	require.Empty(w.t, w.PatchedOperations())
	hooktest.RequireInternal(w.t, w.ValuesJSON())
	var out values.Cluster
	require.NoError(w.t, json.Unmarshal([]byte(w.ValuesGet(values.PathCluster).Raw), &out))
	return out
}

func status() v1alpha1.GPUStackStatus {
	beat := metav1.Now()
	return v1alpha1.GPUStackStatus{
		Synced: true, Heartbeat: &beat, SettingsHash: "h", KubernetesVersion: "v1.34.4", ResourceAPIs: []string{"v1beta1", "v1"},
		KubeletVersions: []v1alpha1.VersionCount{{Version: "v1.34.4", Count: 3}},
		FeatureGates: v1alpha1.FeatureGates{
			Needed: []v1alpha1.NeededGate{
				{Name: "C", State: "Unknown"}, {Name: "B", State: "False", NeededBy: []string{"x"}}, {Name: "A", State: "True"},
			},
			Instances: []v1alpha1.ComponentInstance{
				{Component: "kubelet", Name: "node-2", Version: "v1.34.4", Set: map[string]bool{"A": false, "B": true}},
				{Component: "kubelet", Name: "node-1", Version: "v1.34.4", Set: map[string]bool{"A": true}},
				{Component: "kube-apiserver", Name: "b", Version: "v1.34.4", Set: map[string]bool{"A": true}},
				{Component: "kube-apiserver", Name: "a", Unreadable: "no pod"},
				{Component: "something-new", Name: "x"},
			},
		},
	}
}

func TestFirstConverge(t *testing.T) {
	w := newWorld(t, written)
	w.put(classes, class("gpu.nvidia.com", nil, map[string]string{"meta.helm.sh/release-name": "vendor"}))
	got := w.run()
	require.False(t, got.Observed)
	require.Equal(t, "Deckhouse", got.Distribution)
	require.Equal(t, []string{"gpu.nvidia.com"}, got.ForeignDeviceClasses, "the first release must not take it")
	require.Empty(t, got.KubernetesVersion)
	w.putStack(v1alpha1.GPUStackStatus{})
	require.False(t, w.run().Observed, "an empty GPUStack says nothing yet")
}

// What the gate says decides for every driver that the settings name; a doubt about a gate that was on does not switch it off.
func TestExtendedResourcesFollowTheGate(t *testing.T) {
	const extended = written + "claimTemplates: [{name: t, driver: example, namespaces: [x]}]\n"
	for name, c := range map[string]struct {
		state, effective metav1.ConditionStatus
		want             map[string]bool
	}{
		"on":                 {"True", "True", map[string]bool{"nvidia": true, "nobody": true, "example": true}},
		"off":                {"False", "False", map[string]bool{"nvidia": false, "nobody": false, "example": false}},
		"never known":        {"Unknown", "Unknown", nil},
		"on, and unread now": {"Unknown", "True", map[string]bool{"nvidia": true, "nobody": true, "example": true}},
		"without effective":  {"True", "", map[string]bool{"nvidia": true, "nobody": true, "example": true}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, extended)
			s := status()
			s.FeatureGates.Needed = []v1alpha1.NeededGate{{Name: "DRAExtendedResource", State: c.state, Effective: c.effective}}
			w.putStack(s)
			require.Equal(t, c.want, w.run().ExtendedResources)
		})
	}
}

func TestFactsOfTheStack(t *testing.T) {
	w := newWorld(t, written)
	w.putStack(status())
	got := w.run()
	require.True(t, got.Observed)
	require.Equal(t, "v1.34.4", got.KubernetesVersion)
	require.Equal(t, values.Gates{Needed: []string{"A", "B", "C"}, On: []string{"A"}, Off: []string{"B"}, Unknown: []string{"C"}}, got.FeatureGates)

	before := string(w.ValuesJSON())
	require.Equal(t, got, w.run())
	require.Equal(t, before, string(w.ValuesJSON()))

	// A rolling upgrade in which what is on stays on: instances go and come with another version, and flags are not to be read
	// for a while. Each change of the values would be a run of the module.
	rolling := status()
	rolling.SettingsHash, rolling.ResourceAPIs = "other", []string{"v1"}
	rolling.FeatureGates.Instances = []v1alpha1.ComponentInstance{{Component: "kube-apiserver", Name: "c", Version: "v1.35.0", Set: map[string]bool{"A": true, "D": true}}}
	for i := range rolling.FeatureGates.Needed {
		g := &rolling.FeatureGates.Needed[i]
		g.State, g.Effective = metav1.ConditionUnknown, g.State
	}
	w.putStack(rolling)
	require.Equal(t, got, w.run())
	require.Equal(t, before, string(w.ValuesJSON()))
	w.putStack(status())

	// While the controller starts over, and when the GPUStack is gone, the last known facts stay.
	w.putStack(v1alpha1.GPUStackStatus{KubernetesVersion: "v1.36.0"})
	require.Equal(t, got, w.run())
	require.NoError(t, w.cluster.Resource(stacks).Delete(context.Background(), "main", metav1.DeleteOptions{}))
	require.Equal(t, got, w.run())

	// What went away goes away.
	lower := status()
	lower.FeatureGates = v1alpha1.FeatureGates{}
	w.putStack(lower)
	got = w.run()
	require.Equal(t, values.Gates{}, got.FeatureGates)
}

// After a restart of addon-operator the values are empty; whatever state the controller is in, the status has the last facts.
func TestFactsComeBackAfterARestart(t *testing.T) {
	w := newWorld(t, written)
	w.putStack(status())
	want := w.run()
	again := newWorld(t, written)
	starting := status()
	starting.Synced = false
	again.putStack(starting)
	require.Equal(t, want, again.run())
}

func TestForeignDeviceClasses(t *testing.T) {
	w := newWorld(t, written)
	for _, c := range []*unstructured.Unstructured{
		class("nvidia-any.gpu-dra.deckhouse.io", map[string]string{"module": "gpu-dra", "heritage": "deckhouse"}, nil),
		class("vfio.gpu.nvidia.com", map[string]string{"app.kubernetes.io/name": "gpu-dra"}, map[string]string{"meta.helm.sh/release-name": "gpu-dra"}),
		class("gpu.nvidia.com", map[string]string{"module": "gpu", "heritage": "deckhouse"}, nil),
		class("own.example.com", nil, nil),
		class("mig.nvidia.com", nil, nil),
		class("network.example.com", nil, nil),
	} {
		w.put(classes, c)
	}
	require.Equal(t, []string{"gpu.nvidia.com", "own.example.com", "vfio.gpu.nvidia.com"}, w.run().ForeignDeviceClasses,
		"not ours, not one that is never created, not one that nobody wants; that of a plain release of this chart goes when it is uninstalled")
	require.Empty(t, newWorld(t, "deviceClasses: {create: Never}").run().ForeignDeviceClasses)
}

func TestRefused(t *testing.T) {
	w := newWorld(t, `
nodeGroups: [{name: gpu, drivers: [nvidia]}]
customDrivers:
- {name: nvidia, driverName: gpu.nvidia.com, topology: {PCIeRoot: nodomain}}
- {name: acme, driverName: npu.acme.example, classes: [{name: npu.acme.example, expression: "1 +"}]}
- {name: good, driverName: npu.good.example}
deviceClasses:
  extra: [{name: own.example.com, selectors: ["true"]}, {name: bad.example.com, selectors: ["device.drvier == 'x'"]}]
`)
	for _, name := range []string{"gpu.nvidia.com", "bad.example.com"} {
		w.put(classes, class(name, nil, nil))
	}
	got := w.run()
	require.False(t, got.Observed)
	require.Equal(t, []string{"acme", "nvidia"}, got.RefusedDrivers)
	require.Equal(t, []string{"bad.example.com"}, got.RefusedDeviceClasses)
	require.Equal(t, []string{"gpu.nvidia.com"}, got.ForeignDeviceClasses, "the built-in profile stays; a refused class is not wanted")

	w.putStack(status())
	got = w.run()
	require.True(t, got.Observed)
	require.Equal(t, []string{"acme", "nvidia"}, got.RefusedDrivers)
	require.Equal(t, []string{"bad.example.com"}, got.RefusedDeviceClasses)

	// What was put right is refused no more.
	w.ValuesSet("gpuDra.customDrivers", []any{})
	w.ValuesSet("gpuDra.deviceClasses.extra", []any{})
	got = w.run()
	require.Empty(t, got.RefusedDrivers)
	require.Empty(t, got.RefusedDeviceClasses)
}

func TestMonitoringAPIs(t *testing.T) {
	w := newWorld(t, written)
	require.Equal(t, values.MonitoringAPIs{}, w.run().MonitoringAPIs)
	w.discovery.Resources = monitoring
	all := values.MonitoringAPIs{PodMonitor: true, PrometheusRule: true, GrafanaDashboard: true}
	require.Equal(t, all, w.run().MonitoringAPIs)

	// What cannot be read stays as it was known.
	w.discovery.Resources = nil
	w.discovery.PrependReactor("get", "resource", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, errors.New("timeout")
	})
	require.Equal(t, all, w.run().MonitoringAPIs)
	w.fail = errors.New("no configuration")
	require.Equal(t, all, w.run().MonitoringAPIs)
}

func TestFiltersAreTotal(t *testing.T) {
	full := v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Status: status()}
	data, err := json.Marshal(full)
	require.NoError(t, err)
	hooktest.RequireTotal(t, stackFilter, string(data))
	hooktest.RequireTotal(t, classFilter,
		`{"metadata":{"name":"c","labels":{"module":"gpu-dra"}}}`)
}

func TestFilterLeavesOutTheHeartbeat(t *testing.T) {
	one, two := status(), status()
	two.Heartbeat = nil
	two.KubeletVersions[0].Count++
	two.FeatureGates.Instances[2].Version = "v1.35.0"
	var a, b map[string]any
	require.NoError(t, helpers.JQRunOnObject(context.Background(), stackFilter, v1alpha1.GPUStack{Status: one}, &a))
	require.NoError(t, helpers.JQRunOnObject(context.Background(), stackFilter, v1alpha1.GPUStack{Status: two}, &b))
	require.Equal(t, a, b)
}

func TestSnapshotsOfAnyShapeAreRead(t *testing.T) {
	logger := helpers.NewInputBuilder(t).Build().Logger
	for _, s := range []string{`null`, `[]`, `1`, `"x"`, `{}`, `{"synced":"yes","name":{}}`} {
		snapshots := []pkg.Snapshot{helpers.SnapshotJSON(s)}
		require.Equal(t, values.Cluster{KubernetesVersion: "k"}, observed(values.Cluster{KubernetesVersion: "k"}, snapshots, logger))
		require.Empty(t, foreign(snapshots, map[string]bool{"": false}, logger))
	}
}
