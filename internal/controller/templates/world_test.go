package templates

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

var start = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// world is a Reconciler over controller-runtime's fake client. It validates no spec and knows no namespaces: what an API
// server would say of those comes from fail. Dry-runs, uids as preconditions and generated names it has.
type world struct {
	*Reconciler
	t      *testing.T
	client client.WithWatch
	clock  *clocktesting.FakePassiveClock
	// writes of ResourceClaimTemplates, as "verb namespace".
	writes []string
	// fail, when set, decides on the error of each write.
	fail func(verb string, o client.Object) error
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, resourcev1.AddToScheme, v1alpha1.AddToScheme} {
		require.NoError(t, add(scheme))
	}
	w := &world{t: t, clock: clocktesting.NewFakePassiveClock(start)}
	log := func(verb string, o client.Object) error {
		if w.fail != nil {
			if err := w.fail(verb, o); err != nil {
				return err
			}
		}
		w.writes = append(w.writes, verb+" "+o.GetNamespace())
		return nil
	}
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.GPUClaimTemplate{}).
		WithInterceptorFuncs(interceptor.Funcs{
			Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
				verb := "create"
				if (&client.CreateOptions{}).ApplyOptions(opts).DryRun != nil {
					verb = "try"
				}
				if err := log(verb, o); err != nil {
					return err
				}
				if o.GetUID() == "" {
					o.SetUID(types.UID(fmt.Sprint("uid-", len(w.writes), "-", time.Now().UnixNano())))
				}
				return c.Create(ctx, o, opts...)
			},
			Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
				if err := log("delete", o); err != nil {
					return err
				}
				return c.Delete(ctx, o, opts...)
			},
		}).Build()
	w.restart()
	return w
}

// restart replaces the Reconciler by one that remembers nothing.
func (w *world) restart() {
	profiles, err := profile.NewSet(profile.Driver{
		Name: "example", DriverName: "gpu.example.com", Memory: profile.Memory{Capacity: "memory"},
		Classes: []profile.Class{{Name: "gpu.example.com", Choice: v1alpha1.ChoiceAny, Expression: `device.driver == "gpu.example.com"`}},
	})
	require.NoError(w.t, err)
	w.Reconciler = &Reconciler{Client: w.client, Live: w.client, Profiles: profiles, Clock: w.clock, Synced: func() bool { return true }}
}

func template(namespaces ...string) *v1alpha1.GPUClaimTemplate {
	return &v1alpha1.GPUClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu-16gb", UID: "template", Generation: 1},
		Spec:       v1alpha1.GPUClaimTemplateSpec{Namespaces: namespaces, Driver: "example", MinMemory: ptr.To(resource.MustParse("16Gi")), Fit: v1alpha1.FitFirst},
	}
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// step reconciles the template and returns what was written of ResourceClaimTemplates.
func (w *world) step() ([]string, reconcile.Result, error) {
	w.t.Helper()
	w.writes = nil
	result, err := w.Reconcile(context.Background(), reconcile.Request{NamespacedName: types.NamespacedName{Name: "gpu-16gb"}})
	return w.writes, result, err
}

// quiet is step without an error.
func (w *world) quiet() []string {
	w.t.Helper()
	writes, _, err := w.step()
	require.NoError(w.t, err)
	return writes
}

// status returns "Ready reason summary".
func (w *world) status() string {
	w.t.Helper()
	t := w.template()
	ready := condition.Find(t.Status.Conditions, condition.Ready)
	require.NotNil(w.t, ready)
	return fmt.Sprintf("%s %s %s", ready.Status, ready.Reason, t.Status.Summary)
}

func (w *world) template() *v1alpha1.GPUClaimTemplate {
	w.t.Helper()
	t := &v1alpha1.GPUClaimTemplate{}
	require.NoError(w.t, w.client.Get(context.Background(), types.NamespacedName{Name: "gpu-16gb"}, t))
	return t
}

// change edits the template's spec, as kubectl edit does.
func (w *world) change(edit func(*v1alpha1.GPUClaimTemplateSpec)) {
	w.t.Helper()
	t := w.template()
	edit(&t.Spec)
	t.Generation++
	require.NoError(w.t, w.client.Update(context.Background(), t))
}

func (w *world) object(namespace string) *resourcev1.ResourceClaimTemplate {
	w.t.Helper()
	o := &resourcev1.ResourceClaimTemplate{}
	require.NoError(w.t, w.client.Get(context.Background(), types.NamespacedName{Namespace: namespace, Name: "gpu-16gb"}, o))
	return o
}

func (w *world) expression(namespace string) string {
	w.t.Helper()
	return w.object(namespace).Spec.Spec.Devices.Requests[0].Exactly.Selectors[0].CEL.Expression
}

func (w *world) namespaceList() (out []string) {
	w.t.Helper()
	list := &resourcev1.ResourceClaimTemplateList{}
	require.NoError(w.t, w.client.List(context.Background(), list))
	for _, o := range list.Items {
		out = append(out, o.Namespace)
	}
	return out
}
