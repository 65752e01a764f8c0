package nodegroups

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/deckhouse/module-sdk/testing/framework"
	"github.com/deckhouse/module-sdk/testing/helpers"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
	"github.com/gpu-dra/gpu-dra/hooks/internal/hooktest"
	"github.com/gpu-dra/gpu-dra/hooks/internal/kube"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

const root = "../.."

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world is a fake cluster in which the hook runs as often as a test wants.
type world struct {
	*framework.HookExecutionConfig
	t       *testing.T
	cluster dynamic.Interface
	now     time.Time
	fail    map[string]error
}

func newWorld(t *testing.T, settings string) *world {
	w := &world{t: t, now: start, fail: map[string]error{}}
	h := hook{now: func() time.Time { return w.now }, reader: func() (client.Reader, error) {
		return hooktest.Reader{Dynamic: w.cluster, Scheme: kube.Scheme, Fail: func(kind string) error { return w.fail[kind] }}, w.fail["client"]
	}}
	w.HookExecutionConfig = framework.NewHookExecutionConfig(t, config, h.run,
		framework.WithInitialValues(hooktest.Values(t, root, settings)),
		framework.WithCRD(v1alpha1.Group, "v1alpha1", "GPUNode", false),
		framework.WithCRD(v1alpha1.Group, "v1alpha1", "GPUStack", false),
		framework.WithCRD(v1alpha1.Group, "v1alpha1", "GPUNodeGroup", false),
		framework.WithCRD("deckhouse.io", "v1", "NodeGroup", false))
	c, err := w.DependencyContainer().GetK8sClient()
	require.NoError(t, err)
	w.cluster = c.Dynamic()
	return w
}

// put creates or replaces objects.
func (w *world) put(objects ...runtime.Object) {
	w.t.Helper()
	for _, o := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		require.NoError(w.t, err)
		u := &unstructured.Unstructured{Object: content}
		resource := w.resource(u.GetKind())
		if _, err := resource.Create(context.Background(), u, metav1.CreateOptions{}); err != nil {
			_, err = resource.Update(context.Background(), u, metav1.UpdateOptions{})
			require.NoError(w.t, err)
		}
	}
}

func (w *world) drop(kind, name string) {
	w.t.Helper()
	require.NoError(w.t, w.resource(kind).Delete(context.Background(), name, metav1.DeleteOptions{}))
}

func (w *world) resource(kind string) dynamic.ResourceInterface {
	gv := v1alpha1.GroupVersion
	if kind == "NodeGroup" {
		gv = schema.GroupVersion{Group: "deckhouse.io", Version: "v1"}
	}
	return w.cluster.Resource(gv.WithResource(strings.ToLower(kind) + "s"))
}

// run runs the hook and checks what must hold after every run.
func (w *world) run() {
	w.t.Helper()
	w.RunHook()
	require.NoError(w.t, w.HookError())
	hooktest.RequireInternal(w.t, w.ValuesJSON())
	list, err := w.resource("GPUNodeGroup").List(context.Background(), metav1.ListOptions{})
	require.NoError(w.t, err)
	for i := range list.Items {
		hooktest.RequireCRD(w.t, root, &list.Items[i])
	}
}

// runQuietly runs the hook and requires that it writes nothing.
func (w *world) runQuietly() {
	w.t.Helper()
	before := string(w.ValuesJSON())
	w.run()
	require.Empty(w.t, w.PatchedOperations())
	require.Equal(w.t, before, string(w.ValuesJSON()))
}

func (w *world) group(name string) *v1alpha1.GPUNodeGroup {
	w.t.Helper()
	u := w.KubernetesGlobalResource("GPUNodeGroup", name)
	if u == nil {
		return nil
	}
	var g v1alpha1.GPUNodeGroup
	require.NoError(w.t, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &g))
	return &g
}

func (w *world) condition(name, conditionType string) metav1.Condition {
	w.t.Helper()
	g := w.group(name)
	require.NotNil(w.t, g, name)
	c := condition.Find(g.Status.Conditions, conditionType)
	require.NotNil(w.t, c, conditionType)
	return *c
}

func (w *world) requireReady(name string, status metav1.ConditionStatus, reason string) {
	w.t.Helper()
	c := w.condition(name, condition.Ready)
	require.Equal(w.t, fmt.Sprint(status, " ", reason), fmt.Sprint(c.Status, " ", c.Reason), c.Message)
}

func (w *world) entries() []values.NodeGroup {
	w.t.Helper()
	var out []values.NodeGroup
	require.NoError(w.t, json.Unmarshal([]byte(w.ValuesGet(values.PathNodeGroups).Raw), &out))
	return out
}

// stack is a GPUStack whose controller has seen the present settings and is alive.
func (w *world) stack(change ...func(*v1alpha1.GPUStackStatus)) *v1alpha1.GPUStack {
	w.t.Helper()
	s, err := facts.FromValues(helpers.NewValuesFromJSON(string(w.ValuesJSON())))
	require.NoError(w.t, err)
	beat := metav1.NewTime(w.now)
	out := &v1alpha1.GPUStack{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUStack"},
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StackName},
		Status:     v1alpha1.GPUStackStatus{Synced: true, SettingsHash: s.Hash, Heartbeat: &beat},
	}
	for _, c := range change {
		c(&out.Status)
	}
	return out
}

func nodeGroup(name, uid string, spec map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "deckhouse.io/v1", "kind": "NodeGroup",
		"metadata": map[string]any{"name": name, "uid": uid}, "spec": spec,
	}}
}
