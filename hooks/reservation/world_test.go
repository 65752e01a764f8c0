package reservation

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/testing/helpers"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/hooktest"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/platform"
	core "github.com/gpu-dra/gpu-dra/internal/reservation"
)

const (
	applied    = "memoryReservation: {mode: Apply}\nnodeGroups: [{name: gpu, drivers: [nvidia]}]\n"
	advised    = "nodeGroups: [{name: gpu, drivers: [nvidia]}]\n"
	offForGPU  = "memoryReservation: {mode: Apply}\nnodeGroups: [{name: gpu, drivers: [nvidia], memoryReservation: {mode: 'Off'}}]\n"
	notListed  = "memoryReservation: {mode: Apply}\nnodeGroups: [{name: other, drivers: [nvidia]}]\n"
	recommends = "25068Mi"
)

var nodeGroups = schema.GroupResource{Group: platform.NodeGroupKind.Group, Resource: "nodegroups"}

// world is a fake cluster in which the hook runs as often as a test wants. Fail has the errors of a read of a kind, of every
// "patch", and of a "patch gpu".
type world struct {
	*hooktest.World
	// race runs before each patch: what somebody else does between reading and writing.
	race func()
	log  *bytes.Buffer
	// patches that the API server took, reads by kind.
	patches []string
	reads   []string
}

func newWorld(t *testing.T, settings string) *world {
	w := &world{log: &bytes.Buffer{}}
	h := hook{now: func() time.Time { return w.Now }, cluster: w.client}
	w.World = hooktest.NewWorld(t, settings, config, func(ctx context.Context, input *pkg.HookInput) error {
		input.Logger.SetOutput(w.log)
		return h.run(ctx, input)
	})
	return w
}

// api is the API server: unlike the SDK's fake it gives each write a new version and refuses a patch of an older one.
type api struct {
	hooktest.Reader
	w *world
}

func (w *world) client() (cluster, error) {
	reader := w.Reader()
	fail := reader.Fail
	reader.Fail = func(kind string) error {
		w.reads = append(w.reads, kind)
		return fail(kind)
	}
	return api{reader, w}, w.Fail["client"]
}

func (a api) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	w := a.w
	if w.race != nil {
		w.race()
	}
	for _, what := range []string{"patch", "patch " + object.GetName()} {
		if err := w.Fail[what]; err != nil {
			return err
		}
	}
	require.Equal(w.T, types.MergePatchType, patch.Type())
	data, err := patch.Data(object)
	require.NoError(w.T, err)
	var sent unstructured.Unstructured
	require.NoError(w.T, json.Unmarshal(data, &sent.Object))
	stands, err := w.Resource("NodeGroup").Get(ctx, object.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	require.NotEmpty(w.T, sent.GetResourceVersion(), "a write must not be blind")
	if sent.GetResourceVersion() != stands.GetResourceVersion() {
		return apierrors.NewConflict(nodeGroups, object.GetName(), nil)
	}
	unstructured.RemoveNestedField(sent.Object, "metadata", "resourceVersion")
	data, err = json.Marshal(sent.Object)
	require.NoError(w.T, err)
	if _, err = w.Resource("NodeGroup").Patch(ctx, object.GetName(), types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
		return err
	}
	w.patches = append(w.patches, string(data))
	w.touch(object.GetName(), func(*unstructured.Unstructured) {})
	return nil
}

// touch changes a NodeGroup as somebody else does: its version is another then.
func (w *world) touch(name string, change func(*unstructured.Unstructured)) {
	w.T.Helper()
	u, err := w.Resource("NodeGroup").Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(w.T, err)
	version, _ := strconv.Atoi(u.GetResourceVersion())
	u.SetResourceVersion(strconv.Itoa(version + 1))
	change(u)
	_, err = w.Resource("NodeGroup").Update(context.Background(), u, metav1.UpdateOptions{})
	require.NoError(w.T, err)
}

// reserve changes the reservation of a NodeGroup as somebody else does.
func (w *world) reserve(name string, block map[string]any) {
	w.T.Helper()
	w.touch(name, func(u *unstructured.Unstructured) {
		require.NoError(w.T, unstructured.SetNestedMap(u.Object, block, "spec", "kubelet", "resourceReservation"))
	})
}

// run runs the hook, which never fails, and returns how many patches were taken.
func (w *world) run() int {
	w.T.Helper()
	before := len(w.patches)
	w.reads = nil
	w.RunHook()
	require.NoError(w.T, w.HookError())
	require.Empty(w.T, w.PatchedOperations())
	return len(w.patches) - before
}

// restore runs the hook of a module that is switched off.
func (w *world) restore() {
	w.T.Helper()
	input := helpers.NewInputBuilder(w.T).WithValuesJSON(string(w.ValuesJSON())).Build()
	input.Logger.SetOutput(w.log)
	require.NoError(w.T, restore{cluster: w.client, pause: time.Millisecond}.run(context.Background(), input))
}

func (w *world) settings(text string) {
	w.T.Helper()
	var all struct {
		GPUDRA map[string]any `json:"gpuDra"`
	}
	require.NoError(w.T, json.Unmarshal([]byte(hooktest.Values(w.T, hooktest.Root, text)), &all))
	w.ValuesSet("gpuDra", all.GPUDRA)
}

// announce is what the hook `nodegroups` says of the group.
func (w *world) announce(name, reason string) {
	w.Put(&v1alpha1.GPUNodeGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUNodeGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1alpha1.GPUNodeGroupStatus{Conditions: []metav1.Condition{{Type: condition.MemoryReserved, Reason: reason}}},
	})
}

func (w *world) kubelet(name string) (block any, annotation string) {
	w.T.Helper()
	u, err := w.Resource("NodeGroup").Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(w.T, err)
	block, _, err = unstructured.NestedFieldNoCopy(u.Object, "spec", "kubelet", "resourceReservation")
	require.NoError(w.T, err)
	return block, u.GetAnnotations()[core.AnnotationKey]
}

// facts puts the GPUStack of a controller that is alive, and a node of 2 TiB with eight cards as Deckhouse configures it.
func (w *world) facts(change ...func(*v1alpha1.GPUStackStatus)) {
	w.T.Helper()
	capacity := int64(2048) << 30
	w.Put(w.Stack(change...), &v1alpha1.GPUNode{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUNode"},
		ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Status: v1alpha1.GPUNodeStatus{
			Groups:  []string{"gpu"},
			Memory:  &v1alpha1.NodeMemory{Capacity: *core.Quantity(capacity), Allocatable: *resource.NewQuantity(capacity-23836019917-21990232556, resource.BinarySI)},
			Drivers: []v1alpha1.NodeDriver{{Name: "gpu.nvidia.com", Accelerator: true, HighWater: 8}},
		},
	})
}

func nodeGroup(name string, block map[string]any) *unstructured.Unstructured {
	kubelet := map[string]any{"maxPods": int64(120)}
	if block != nil {
		kubelet["resourceReservation"] = block
	}
	u := hooktest.NodeGroup(name, map[string]any{"kubelet": kubelet})
	u.SetResourceVersion("1")
	return u
}
