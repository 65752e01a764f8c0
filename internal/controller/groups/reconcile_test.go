package groups

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/platform"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world is a Reconciler over controller-runtime's fake client, which stands for the cache and for the API server.
type world struct {
	*Reconciler
	t      *testing.T
	client client.WithWatch
	clock  *clocktesting.FakePassiveClock
	writes []string
	lists  int
	fail   func(verb string) error
}

func newWorld(t *testing.T, d profile.Distribution, objects ...client.Object) *world {
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	scheme.AddKnownTypeWithName(platform.NodeGroupKind, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(platform.NodeGroupKind.GroupVersion().WithKind("NodeGroupList"), &unstructured.UnstructuredList{})
	profiles, err := profile.NewSet(profile.Driver{Name: "example", DriverName: "gpu.example.com"})
	require.NoError(t, err)
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(start)}
	log := func(verb string) error {
		if w.fail != nil {
			if err := w.fail(verb); err != nil {
				return err
			}
		}
		w.writes = append(w.writes, verb)
		return nil
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&v1alpha1.GPUNodeGroup{}).
		WithInterceptorFuncs(interceptor.Funcs{
			List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
				if _, ok := list.(*unstructured.UnstructuredList); ok {
					w.lists++
				}
				return c.List(ctx, list, opts...)
			},
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if err := log("create"); err != nil {
					return err
				}
				return c.Create(ctx, o, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if err := log("delete"); err != nil {
					return err
				}
				return c.Delete(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				if err := log("owners"); err != nil {
					return err
				}
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				if err := log(sub); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
			SubResourceUpdate: func(ctx context.Context, c client.Client, sub string, o client.Object, opts ...client.SubResourceUpdateOption) error {
				if err := log(sub); err != nil {
					return err
				}
				return c.SubResource(sub).Update(ctx, o, opts...)
			},
		}).Build()
	w.Reconciler = &Reconciler{
		Client: w.client, Live: w.client, SettingsHash: "hash", Distribution: d, Profiles: profiles, Clock: w.clock,
		Groups: []settings.NodeGroup{{Name: "gpus", Drivers: []string{"example"}, NodeSelector: map[string]string{"a": "b"}}},
	}
	return w
}

// step reconciles a group and returns what was written and when it is to be looked at again.
func (w *world) step(name string) ([]string, time.Duration) {
	w.t.Helper()
	w.writes = nil
	result, err := w.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	require.NoError(w.t, err)
	return w.writes, result.RequeueAfter
}

func (w *world) group() *v1alpha1.GPUNodeGroup {
	w.t.Helper()
	g := &v1alpha1.GPUNodeGroup{}
	require.NoError(w.t, w.client.Get(context.Background(), types.NamespacedName{Name: "gpus"}, g))
	return g
}

func (w *world) ready() string {
	w.t.Helper()
	c := condition.Find(w.group().Status.Conditions, condition.Ready)
	require.NotNil(w.t, c)
	return string(c.Status) + " " + c.Reason
}

func stack() *v1alpha1.GPUStack {
	heartbeat := metav1.NewTime(start)
	return &v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: "main"}, Status: v1alpha1.GPUStackStatus{Synced: true, SettingsHash: "hash", Heartbeat: &heartbeat}}
}

func TestGroupWithoutAStack(t *testing.T) {
	w := newWorld(t, profile.Distribution{})
	writes, after := w.step("gpus")
	require.Equal(t, []string{"create", "status"}, writes)
	require.Zero(t, after)
	require.Equal(t, "Unknown ControllerNotSynced", w.ready())
	require.Zero(t, w.lists, "this distribution has no groups of its own")
}

func TestGroupFollowsNodesAndHeartbeat(t *testing.T) {
	w := newWorld(t, profile.Distribution{}, stack())
	w.step("gpus")
	require.Equal(t, "True NoNodesExpected", w.ready())

	require.NoError(t, w.client.Create(context.Background(), &v1alpha1.GPUNode{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Status:     v1alpha1.GPUNodeStatus{Groups: []string{"gpus"}, Conditions: []metav1.Condition{{Type: condition.Registered, Status: metav1.ConditionTrue}}},
	}))
	writes, after := w.step("gpus")
	require.Equal(t, []string{"status"}, writes)
	require.Equal(t, v1alpha1.HeartbeatStaleAfter+time.Second, after)
	require.Equal(t, "True AllNodesRegistered", w.ready())
	writes, _ = w.step("gpus")
	require.Empty(t, writes)

	w.clock.SetTime(start.Add(after))
	_, after = w.step("gpus")
	require.Equal(t, "Unknown ControllerStale", w.ready())
	require.Zero(t, after)
}

// Where no hooks run the advice on kubelet memory comes from the same core call.
func TestGroupHasMemoryAdvice(t *testing.T) {
	distributions, err := profile.Distributions()
	require.NoError(t, err)
	memory := resource.MustParse("128Gi")
	w := newWorld(t, distributions["Vanilla"], stack(), &v1alpha1.GPUNode{
		ObjectMeta: metav1.ObjectMeta{Name: "n1"},
		Status: v1alpha1.GPUNodeStatus{
			Groups: []string{"gpus"}, Memory: &v1alpha1.NodeMemory{Capacity: memory, Allocatable: memory},
			Drivers: []v1alpha1.NodeDriver{{Name: "gpu.example.com", Expected: true, Accelerator: true, Registered: true, HighWater: 8}},
		},
	})
	parsed, err := settings.Parse(nil)
	require.NoError(t, err)
	w.MemoryReservation = parsed.MemoryReservation
	w.step("gpus")
	advice := w.group().Status.MemoryReservation
	require.NotNil(t, advice)
	require.Equal(t, "Advise", advice.Mode)
	require.Equal(t, "n1", advice.DecidedBy)
	require.Positive(t, advice.Recommended.Value())
}

func TestGroupThatIsNoLongerListed(t *testing.T) {
	w := newWorld(t, profile.Distribution{}, &v1alpha1.GPUNodeGroup{ObjectMeta: metav1.ObjectMeta{Name: "old", UID: "1"}})
	writes, _ := w.step("old")
	require.Equal(t, []string{"delete"}, writes)
	writes, _ = w.step("old")
	require.Empty(t, writes)
}

func TestGroupOfThePlatform(t *testing.T) {
	nodeGroup := &unstructured.Unstructured{Object: map[string]any{}}
	nodeGroup.SetGroupVersionKind(platform.NodeGroupKind)
	nodeGroup.SetName("gpus")
	nodeGroup.SetUID("ng")
	w := newWorld(t, profile.Distribution{NodeGroupLabel: "group"}, stack(), nodeGroup)
	_, after := w.step("gpus")
	require.Equal(t, lookAgain, after)
	require.Equal(t, types.UID("ng"), w.group().OwnerReferences[0].UID)
	require.Equal(t, condition.GroupFound, condition.Find(w.group().Status.Conditions, condition.NodeGroupFound).Reason)

	require.NoError(t, w.client.Delete(context.Background(), nodeGroup))
	writes, _ := w.step("gpus")
	require.Empty(t, writes, "asked once a minute")
	require.Equal(t, 1, w.lists)
	w.clock.SetTime(start.Add(lookAgain))
	writes, _ = w.step("gpus")
	require.Equal(t, []string{"owners", "status"}, writes)
	require.Empty(t, w.group().OwnerReferences, "or the garbage collector would remove it")
	require.Equal(t, "False NodeGroupNotFound", w.ready())
}

func TestOutdatedCacheIsNoError(t *testing.T) {
	w := newWorld(t, profile.Distribution{})
	w.fail = func(verb string) error {
		if verb == "create" {
			return apierrors.NewAlreadyExists(schema.GroupResource{Resource: "gpunodegroups"}, "gpus")
		}
		return nil
	}
	_, after := w.step("gpus")
	require.Equal(t, again, after)
	w.fail = func(string) error { return errors.New("away") }
	_, err := w.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "gpus"}})
	require.Error(t, err)
}
