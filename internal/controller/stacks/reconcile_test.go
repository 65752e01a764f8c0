package stacks

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/version"
	discoveryfake "k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/inventory"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

var policy = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Policy"}

// world is a Reconciler over fakes: controller-runtime's fake client stands for the cache and for the API server, client-go's
// fake discovery for its version and groups.
type world struct {
	*Reconciler
	t         *testing.T
	client    client.WithWatch
	clock     *clocktesting.FakePassiveClock
	discovery *discoveryfake.FakeDiscovery
	synced    bool
	wide      inventory.ClusterWide
	pods      []*corev1.Pod
	podsErr   error
	claimsErr error
	settings  string
	patches   int
	// lists of a kind fail with these.
	lists map[string]error
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, resourcev1.AddToScheme, v1alpha1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	for _, kind := range []schema.GroupVersionKind{policy, {Group: "deckhouse.io", Version: "v1", Kind: "NodeGroup"}} {
		scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind(kind.Kind+"List"), &unstructured.UnstructuredList{})
	}
	profiles, err := profile.NewSet(profile.Driver{
		Name: "example", DriverName: "gpu.example.com", Classes: []profile.Class{{Name: "gpu.example.com"}},
		Managers: []profile.ManagerTrace{{Name: "operator", API: "example.com/v1/Policy"}},
	})
	require.NoError(t, err)
	distribution := profile.Distribution{
		Name: "Test", NodeGroupLabel: "group", ControlPlanePods: profile.ControlPlanePods{Namespace: "kube-system", Label: "component"},
		Managers: []profile.ManagerTrace{{Name: "module", Namespace: "d8-gpu"}, {Name: "node-manager", NodeGroupField: "spec.gpu"}},
	}
	s := &settings.Settings{NodeGroups: []settings.NodeGroup{{Name: "gpus", Drivers: []string{"example"}}}}
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(start), synced: true, lists: map[string]error{}}
	w.discovery = &discoveryfake.FakeDiscovery{Fake: &clienttesting.Fake{}, FakedServerVersion: &version.Info{GitVersion: "v1.34.4"}}
	w.discovery.Resources = []*metav1.APIResourceList{{GroupVersion: "resource.k8s.io/v1"}, {GroupVersion: "resource.k8s.io/v1beta2"}, {GroupVersion: "apps/v1"}}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.GPUStack{}).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if err := w.lists[list.GetObjectKind().GroupVersionKind().Kind]; err != nil {
					return err
				}
				return c.List(ctx, list, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				w.patches++
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
	metrics, _ := metricsOf(t, func(answer http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(answer, `kubernetes_build_info{git_version="v1.34.4"} 1`)
		fmt.Fprintln(answer, `kubernetes_feature_enabled{name="DynamicResourceAllocation",stage=""} 1`)
	}, timeToTest)
	metrics.Clock = w.clock
	w.Reconciler = &Reconciler{
		Client: w.client,
		Local: Local{
			ClusterWide:  func() (inventory.ClusterWide, error) { return w.wide, nil },
			ControlPlane: func() ([]*corev1.Pod, error) { return w.pods, w.podsErr },
			Claims:       func() error { return w.claimsErr },
		},
		Remote:   &Remote{Discovery: w.discovery, Reader: w.client, Clock: w.clock, Groups: []string{"gpus"}, Distribution: distribution, Profiles: profiles},
		Metrics:  metrics,
		Settings: s, SettingsHash: settings.Hash(s), Unreadable: func() string { return w.settings },
		Distribution: distribution, Profiles: profiles, Synced: func() bool { return w.synced }, Version: "v0.1.0", Clock: w.clock,
	}
	return w
}

// step reconciles and returns the status.
func (w *world) step() v1alpha1.GPUStackStatus {
	w.t.Helper()
	result, err := w.Reconcile(context.Background(), reconcile.Request{})
	require.NoError(w.t, err)
	require.Equal(w.t, v1alpha1.HeartbeatInterval, result.RequeueAfter)
	s := &v1alpha1.GPUStack{}
	require.NoError(w.t, client.IgnoreNotFound(w.client.Get(context.Background(), types.NamespacedName{Name: "main"}, s)))
	return s.Status
}

func object(kind schema.GroupVersionKind, name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	u.SetGroupVersionKind(kind)
	u.SetName(name)
	return u
}

func TestStackIsWrittenOnce(t *testing.T) {
	w := newWorld(t)
	s := w.step()
	require.True(t, s.Synced)
	require.Equal(t, w.SettingsHash, s.SettingsHash)
	require.Equal(t, "v1.34.4", s.KubernetesVersion)
	require.Equal(t, []string{"v1", "v1beta2"}, s.ResourceAPIs)
	require.Equal(t, "v0.1.0", s.ControllerVersion)
	require.Equal(t, 1, w.patches)

	w.clock.SetTime(start.Add(v1alpha1.HeartbeatInterval - time.Second))
	w.step()
	require.Equal(t, 1, w.patches, "the same facts, and the heartbeat is young")
	w.clock.SetTime(start.Add(v1alpha1.HeartbeatInterval))
	s = w.step()
	require.Equal(t, 2, w.patches)
	require.True(t, s.Heartbeat.Equal(&metav1.Time{Time: start.Add(v1alpha1.HeartbeatInterval)}))
}

func TestControllerThatHasNotReadTheCluster(t *testing.T) {
	w := newWorld(t)
	w.synced = false
	s := w.step()
	require.False(t, s.Synced)
	require.NotNil(t, s.Heartbeat)
	w.synced = true
	s = w.step()
	require.True(t, s.Synced)

	// The next controller: what the one before it said stands, heartbeat included, until it has read the cluster itself.
	w.synced = false
	w.clock.SetTime(start.Add(time.Minute))
	require.Equal(t, s, w.step())
	w.clock.SetTime(start.Add(v1alpha1.HeartbeatStaleAfter))
	require.False(t, w.step().Synced, "not for ever")

	// With other settings nothing stands.
	w.synced = true
	w.step()
	w.synced, w.SettingsHash = false, "other"
	require.False(t, w.step().Synced)
}

func TestFactsOfTheCluster(t *testing.T) {
	unwanted := &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "nobody-wants"}}
	w := newWorld(t,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "d8-gpu"}},
		&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "gpu.example.com"}}, unwanted,
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{"group": "forgotten"}}},
		&v1alpha1.GPUNode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1alpha1.GPUNodeStatus{Drivers: []v1alpha1.NodeDriver{{Name: "gpu.example.com", Accelerator: true}}}},
		object(policy, "cluster-policy", nil),
		object(schema.GroupVersionKind{Group: "deckhouse.io", Version: "v1", Kind: "NodeGroup"}, "gpus", map[string]any{"gpu": map[string]any{"sharing": "x"}}))
	w.wide = inventory.ClusterWide{UnknownDrivers: []string{"x.example.com"}, SharedPools: []v1alpha1.SharedPool{{Scope: "AllNodes"}}, InlineCounters: []string{"gpu.example.com"}}
	scheduler := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{
		Name: "kube-scheduler", Image: "r/s:v1.34.4", Command: []string{"kube-scheduler"}}}}}
	scheduler.Name, scheduler.Labels = "kube-scheduler-a", map[string]string{"component": "kube-scheduler"}
	w.pods = []*corev1.Pod{scheduler}
	s := w.step()
	require.Equal(t, []string{"gpu.example.com"}, s.ForeignDeviceClasses)
	require.Equal(t, []v1alpha1.UnmanagedGroup{{Name: "forgotten", Nodes: 1, Drivers: []string{"gpu.example.com"}}}, s.Unmanaged)
	require.Equal(t, []string{"x.example.com"}, s.UnknownDrivers)
	require.Len(t, s.SharedPools, 1)
	require.Equal(t, &v1alpha1.SliceLayout{InlineCounters: []string{"gpu.example.com"}}, s.FeatureGates.SliceLayout)
	require.Len(t, s.FeatureGates.Instances, 1)
	var conflicts []string
	for _, c := range s.Conflicts {
		conflicts = append(conflicts, c.Manager+": "+c.Evidence)
	}
	require.Equal(t, []string{"module: namespace d8-gpu", "node-manager: NodeGroup gpus spec.gpu", "operator: Policy cluster-policy"}, conflicts)
}

func TestFactsThatCannotBeRead(t *testing.T) {
	w := newWorld(t)
	forbidden := func(resource string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no right"))
	}
	w.lists["PolicyList"] = forbidden("policies")
	w.lists["NodeGroupList"] = errors.New("read tcp 10.0.0.1:41234->10.0.0.2:443: reset")
	w.podsErr = forbidden("pods")
	w.claimsErr = forbidden("resourceclaims")
	w.settings = "config.yaml: no YAML"
	w.discovery.PrependReactor("*", "*", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, errors.New("away") })
	s := w.step()
	c := condition.Find(s.Conditions, condition.ControllerSynced)
	require.Equal(t, condition.StackFactsUnreadable, c.Reason)
	for _, part := range []string{"policies is forbidden: no right", "pods is forbidden", "ResourceClaims (resourceclaims is forbidden: no right)", "NodeGroups (the API server did not answer)"} {
		require.Contains(t, c.Message, part)
	}
	require.NotContains(t, c.Message, "41234")
	require.Equal(t, condition.StackSettingsUnreadble, condition.Find(s.Conditions, condition.SettingsAccepted).Reason)
	require.True(t, s.Synced, "what can be read was read")

	// What is not served is no doubt.
	w.lists["PolicyList"] = &meta.NoKindMatchError{}
	w.lists["NodeGroupList"] = apierrors.NewNotFound(schema.GroupResource{Resource: "nodegroups"}, "")
	w.podsErr, w.claimsErr, w.settings = nil, nil, ""
	w.discovery.ReactionChain = nil
	w.clock.SetTime(start.Add(retryAfter))
	s = w.step()
	require.Equal(t, condition.StackSynced, condition.Find(s.Conditions, condition.ControllerSynced).Reason)
	require.Equal(t, condition.StackSoleManager, condition.Find(s.Conditions, condition.SoleManager).Reason)
}

func TestRemoteIsAskedOnceAMinute(t *testing.T) {
	w := newWorld(t)
	w.step()
	asked := len(w.discovery.Actions())
	w.clock.SetTime(start.Add(refreshAfter - time.Second))
	w.step()
	require.Len(t, w.discovery.Actions(), asked)
	w.clock.SetTime(start.Add(refreshAfter))
	w.step()
	require.Greater(t, len(w.discovery.Actions()), asked)
}
