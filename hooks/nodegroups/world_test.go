package nodegroups

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/hooktest"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// world is a fake cluster in which the hook runs as often as a test wants.
type world struct{ *hooktest.World }

func newWorld(t *testing.T, settings string) *world {
	w := &world{}
	h := hook{now: func() time.Time { return w.Now }, reader: func() (client.Reader, error) { return w.Reader(), w.Fail["client"] }}
	w.World = hooktest.NewWorld(t, settings, config, h.run)
	return w
}

// run runs the hook and checks what must hold after every run.
func (w *world) run() {
	w.T.Helper()
	w.RunHook()
	require.NoError(w.T, w.HookError())
	hooktest.RequireInternal(w.T, w.ValuesJSON())
	list, err := w.Resource("GPUNodeGroup").List(context.Background(), metav1.ListOptions{})
	require.NoError(w.T, err)
	for i := range list.Items {
		hooktest.RequireCRD(w.T, hooktest.Root, &list.Items[i])
	}
}

// runQuietly runs the hook and requires that it writes nothing.
func (w *world) runQuietly() {
	w.T.Helper()
	before := string(w.ValuesJSON())
	w.run()
	require.Empty(w.T, w.PatchedOperations())
	require.Equal(w.T, before, string(w.ValuesJSON()))
}

func (w *world) group(name string) *v1alpha1.GPUNodeGroup {
	w.T.Helper()
	u := w.KubernetesGlobalResource("GPUNodeGroup", name)
	if u == nil {
		return nil
	}
	var g v1alpha1.GPUNodeGroup
	require.NoError(w.T, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &g))
	return &g
}

func (w *world) condition(name, conditionType string) metav1.Condition {
	w.T.Helper()
	g := w.group(name)
	require.NotNil(w.T, g, name)
	c := condition.Find(g.Status.Conditions, conditionType)
	require.NotNil(w.T, c, conditionType)
	return *c
}

func (w *world) requireReady(name string, status metav1.ConditionStatus, reason string) {
	w.T.Helper()
	c := w.condition(name, condition.Ready)
	require.Equal(w.T, fmt.Sprint(status, " ", reason), fmt.Sprint(c.Status, " ", c.Reason), c.Message)
}

func (w *world) entries() []values.NodeGroup {
	w.T.Helper()
	var out []values.NodeGroup
	require.NoError(w.T, json.Unmarshal([]byte(w.ValuesGet(values.PathNodeGroups).Raw), &out))
	return out
}

func nodeGroup(name, uid string, spec map[string]any) *unstructured.Unstructured {
	u := hooktest.NodeGroup(name, spec)
	u.SetUID(types.UID(uid))
	return u
}
