package nodes

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
	"github.com/gpu-dra/gpu-dra/internal/inventory"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

const driver = "gpu.example.com"

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// inventories is what nodes have, by name.
type inventories map[string]inventory.Node

func (s inventories) Node(name string) (inventory.Node, error) { return s[name], nil }

func published(cards int32) inventory.Node {
	return inventory.Node{Drivers: []inventory.Driver{{
		Name: driver, Profile: "example", Accelerator: true, Registered: true,
		Counts: v1alpha1.DeviceCounts{Physical: cards, Published: cards, AllocatableWhole: cards},
	}}}
}

// world is a Reconciler over controller-runtime's fake client, which keeps resource versions and status subresources as an
// API server does, and counts the writes.
type world struct {
	*Reconciler
	t      *testing.T
	client client.WithWatch
	clock  *clocktesting.FakePassiveClock
	slices inventories
	// held devices of nodes, by driver.
	held   map[string]map[string]int32
	writes []string
	// fail, when set, decides on the error of each write.
	fail func(verb string, o client.Object) error
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	scheme := runtime.NewScheme()
	require.NoError(t, corev1.AddToScheme(scheme))
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	profiles, err := profile.NewSet(profile.Driver{
		Name: "example", DriverName: driver, PodSelector: map[string]string{"app": "driver-example"},
		PluginResources: []string{"example.com/gpu"},
	})
	require.NoError(t, err)
	w := &world{t: t, slices: inventories{}, clock: clocktesting.NewFakePassiveClock(start)}
	log := func(verb string, o client.Object) error {
		if w.fail != nil {
			if err := w.fail(verb, o); err != nil {
				return err
			}
		}
		w.writes = append(w.writes, verb)
		return nil
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.GPUNode{}, &corev1.Node{}).
		WithIndex(&corev1.Pod{}, PodNodeIndex, PodNode).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				if err := log("create", o); err != nil {
					return err
				}
				return c.Create(ctx, o, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if err := log("delete", o); err != nil {
					return err
				}
				return c.Delete(ctx, o, opts...)
			},
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				verb := "label"
				if _, ok := o.(*v1alpha1.GPUNode); ok {
					verb = "untrack"
				}
				if err := log(verb, o); err != nil {
					return err
				}
				return c.Patch(ctx, o, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				if err := log(sub, o); err != nil {
					return err
				}
				return c.SubResource(sub).Patch(ctx, o, p, opts...)
			},
		}).Build()
	w.Reconciler = &Reconciler{
		Client: w.client, Inventory: w.slices, Allocated: func(node string) (map[string]int32, error) { return w.held[node], nil }, Namespace: "gpu-dra", Profiles: profiles, Clock: w.clock, Pass: NewPass(),
		Groups: NewGroups([]settings.NodeGroup{{Name: "gpus", NodeSelector: map[string]string{"group": "gpus"}, Drivers: []string{"example"}}}, profile.Distribution{}),
	}
	return w
}

// restart is a controller that starts anew, with nothing in memory.
func (w *world) restart() {
	r := w.Reconciler
	w.Reconciler = &Reconciler{
		Client: r.Client, Inventory: r.Inventory, Allocated: r.Allocated, Groups: r.Groups, Namespace: r.Namespace,
		Distribution: r.Distribution, Profiles: r.Profiles, Clock: r.Clock, Pass: NewPass(),
	}
}

func node(name, uid string, labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(uid), Labels: labels}}
}

var inGroup = map[string]string{"group": "gpus"}

// step reconciles a node and returns what was written and when it is to be looked at again.
func (w *world) step(name string) (writes []string, after time.Duration) {
	w.t.Helper()
	w.writes = nil
	result, err := w.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: name}})
	require.NoError(w.t, err)
	return w.writes, result.RequeueAfter
}

func (w *world) registered(name string) string {
	w.t.Helper()
	g := &v1alpha1.GPUNode{}
	require.NoError(w.t, w.client.Get(context.Background(), types.NamespacedName{Name: name}, g))
	c := condition.Find(g.Status.Conditions, condition.Registered)
	require.NotNil(w.t, c)
	n := &corev1.Node{}
	require.NoError(w.t, w.client.Get(context.Background(), types.NamespacedName{Name: name}, n))
	return string(c.Status) + " " + c.Reason + " label=" + n.Labels[v1alpha1.LabelRegistered]
}

func (w *world) set(o client.Object) {
	w.t.Helper()
	require.NoError(w.t, w.client.Update(context.Background(), o))
}

func TestNodeOfAGroup(t *testing.T) {
	w := newWorld(t, node("n1", "1", inGroup))
	writes, _ := w.step("n1")
	require.Equal(t, []string{"create", "untrack", "status", "label"}, writes)
	require.Equal(t, "False NotPublished label=false", w.registered("n1"))

	g := &v1alpha1.GPUNode{}
	require.NoError(t, w.client.Get(context.Background(), types.NamespacedName{Name: "n1"}, g))
	require.Equal(t, types.UID("1"), g.OwnerReferences[0].UID)

	w.slices["n1"] = published(8)
	writes, _ = w.step("n1")
	require.Equal(t, []string{"status", "label"}, writes)
	require.Equal(t, "True Registered label=true", w.registered("n1"))

	w.clock.SetTime(start.Add(time.Hour))
	writes, after := w.step("n1")
	require.Empty(t, writes, "the same facts are written once")
	require.Zero(t, after)
}

func TestLossIsDebounced(t *testing.T) {
	w := newWorld(t, node("n1", "1", inGroup))
	w.slices["n1"] = published(8)
	w.step("n1")

	delete(w.slices, "n1")
	_, after := w.step("n1")
	require.Equal(t, gpunode.LossDelay, after)
	require.Equal(t, "True WaitingAfterLoss label=true", w.registered("n1"))

	// A controller that starts anew goes on from the status, not from the time of its start.
	w.clock.SetTime(start.Add(gpunode.LossDelay - time.Second))
	w.restart()
	writes, after := w.step("n1")
	require.Empty(t, writes)
	require.Equal(t, time.Second, after)

	w.clock.SetTime(start.Add(gpunode.LossDelay))
	_, after = w.step("n1")
	require.Zero(t, after)
	require.Equal(t, "False DriverLost label=false", w.registered("n1"))

	w.slices["n1"] = published(8)
	w.step("n1")
	require.Equal(t, "True Registered label=true", w.registered("n1"), "back at once")
}

func TestNodeOutsideGroups(t *testing.T) {
	w := newWorld(t, node("plain", "1", nil), node("other", "2", map[string]string{v1alpha1.LabelRegistered: "true"}))
	writes, _ := w.step("plain")
	require.Empty(t, writes)

	w.slices["other"] = published(1)
	w.step("other")
	require.Equal(t, "Unknown NoDriverExpected label=", w.registered("other"), "nothing is expected, so the label says nothing")

	delete(w.slices, "other")
	writes, _ = w.step("other")
	require.Equal(t, []string{"delete"}, writes)
}

func TestNodeThatLeaves(t *testing.T) {
	n := node("n1", "1", map[string]string{"group": "gpus"})
	w := newWorld(t, n)
	w.slices["n1"] = published(8)
	w.step("n1")
	require.NoError(t, w.client.Get(context.Background(), client.ObjectKeyFromObject(n), n))
	delete(n.Labels, "group")
	w.set(n)
	delete(w.slices, "n1")
	writes, _ := w.step("n1")
	require.Equal(t, []string{"delete", "label"}, writes)
	require.NoError(t, w.client.Get(context.Background(), client.ObjectKeyFromObject(n), n))
	require.NotContains(t, n.Labels, v1alpha1.LabelRegistered)

	require.NoError(t, w.client.Delete(context.Background(), n))
	writes, _ = w.step("n1")
	require.Empty(t, writes)
}

func TestNodeDeleted(t *testing.T) {
	n := node("n1", "1", inGroup)
	w := newWorld(t, n)
	w.step("n1")
	require.NoError(t, w.client.Delete(context.Background(), n))
	writes, _ := w.step("n1")
	require.Equal(t, []string{"delete"}, writes)
}

func TestNodeReplacedByAnotherOfTheSameName(t *testing.T) {
	old := &v1alpha1.GPUNode{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "g", OwnerReferences: []metav1.OwnerReference{ownerReference(node("n1", "old", nil))}},
		Status:     v1alpha1.GPUNodeStatus{Drivers: []v1alpha1.NodeDriver{{Name: driver, Expected: true, Registered: true, HighWater: 16}}},
	}
	w := newWorld(t, node("n1", "new", inGroup), old)
	w.slices["n1"] = published(8)
	w.Pass.Expect([]string{"n1"})
	writes, after := w.step("n1")
	require.Equal(t, []string{"delete"}, writes)
	require.NotZero(t, after)
	require.False(t, w.Pass.Over())
	writes, _ = w.step("n1")
	require.Equal(t, []string{"create", "untrack", "status", "label"}, writes)
	g := &v1alpha1.GPUNode{}
	require.NoError(t, w.client.Get(context.Background(), types.NamespacedName{Name: "n1"}, g))
	require.Equal(t, types.UID("new"), g.OwnerReferences[0].UID)
	require.EqualValues(t, 8, g.Status.Drivers[0].HighWater, "the cards of the other node are not this one's history")
}

func TestOutdatedCacheIsNoError(t *testing.T) {
	w := newWorld(t, node("n1", "1", inGroup))
	w.fail = func(verb string, o client.Object) error {
		if verb == "status" {
			return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("gpunodes").GroupResource(), o.GetName(), errors.New("changed"))
		}
		return nil
	}
	w.Pass.Expect([]string{"n1"})
	_, after := w.step("n1")
	require.Equal(t, again, after)
	require.False(t, w.Pass.Over(), "what was not written is not done")

	w.fail = nil
	writes, _ := w.step("n1")
	require.Equal(t, []string{"status", "label"}, writes)
	require.True(t, w.Pass.Over())
}

func TestRefusedStatusDoesNotHoldUpThePass(t *testing.T) {
	w := newWorld(t, node("n1", "1", inGroup))
	w.fail = func(verb string, o client.Object) error {
		if verb == "status" {
			return apierrors.NewInvalid(v1alpha1.GroupVersion.WithKind("GPUNode").GroupKind(), o.GetName(), nil)
		}
		return nil
	}
	w.Pass.Expect([]string{"n1"})
	_, err := w.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "n1"}})
	require.Error(t, err)
	require.True(t, w.Pass.Over())

	w.Pass = NewPass()
	w.Pass.Expect([]string{"n1"})
	w.fail = func(string, client.Object) error { return errors.New("no API server") }
	_, err = w.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "n1"}})
	require.Error(t, err)
	require.False(t, w.Pass.Over(), "nothing was written anywhere")
}

func TestLabelThatIsRefusedDoesNotHoldUpThePass(t *testing.T) {
	w := newWorld(t, node("n1", "1", inGroup))
	w.fail = func(verb string, o client.Object) error {
		if verb == "label" {
			return apierrors.NewForbidden(corev1.Resource("nodes"), o.GetName(), errors.New("a policy"))
		}
		return nil
	}
	w.Pass.Expect([]string{"n1"})
	_, err := w.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "n1"}})
	require.Error(t, err)
	require.True(t, w.Pass.Over(), "the GPUNode is written")
}
