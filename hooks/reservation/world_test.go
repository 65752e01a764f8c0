package reservation

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/testing/framework"
	"github.com/deckhouse/module-sdk/testing/helpers"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
	"github.com/gpu-dra/gpu-dra/hooks/internal/hooktest"
	"github.com/gpu-dra/gpu-dra/hooks/internal/kube"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	core "github.com/gpu-dra/gpu-dra/internal/reservation"
)

const (
	root       = "../.."
	applied    = "memoryReservation: {mode: Apply}\nnodeGroups: [{name: gpu, drivers: [nvidia]}]\n"
	advised    = "nodeGroups: [{name: gpu, drivers: [nvidia]}]\n"
	offForGPU  = "memoryReservation: {mode: Apply}\nnodeGroups: [{name: gpu, drivers: [nvidia], memoryReservation: {mode: 'Off'}}]\n"
	notListed  = "memoryReservation: {mode: Apply}\nnodeGroups: [{name: other, drivers: [nvidia]}]\n"
	recommends = "25068Mi"
)

var (
	start         = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	nodeGroupKind = schema.GroupVersion{Group: "deckhouse.io", Version: "v1"}
)

// world is a fake cluster in which the hook runs as often as a test wants.
type world struct {
	*framework.HookExecutionConfig
	t       *testing.T
	dynamic dynamic.Interface
	now     time.Time
	// fail is the error of a read of a kind, of every "patch", or of a "patch gpu".
	fail map[string]error
	// race runs before each patch: what somebody else does between reading and writing.
	race func()
	log  *bytes.Buffer
	// patches that the API server took, reads by kind.
	patches []string
	reads   []string
}

func newWorld(t *testing.T, settings string) *world {
	w := &world{t: t, now: start, fail: map[string]error{}, log: &bytes.Buffer{}}
	h := hook{now: func() time.Time { return w.now }, cluster: w.client}
	w.HookExecutionConfig = framework.NewHookExecutionConfig(t, config,
		func(ctx context.Context, input *pkg.HookInput) error {
			input.Logger.SetOutput(w.log)
			return h.run(ctx, input)
		},
		framework.WithInitialValues(hooktest.Values(t, root, settings)),
		framework.WithCRD(v1alpha1.Group, "v1alpha1", "GPUNode", false),
		framework.WithCRD(v1alpha1.Group, "v1alpha1", "GPUStack", false),
		framework.WithCRD(v1alpha1.Group, "v1alpha1", "GPUNodeGroup", false),
		framework.WithCRD("deckhouse.io", "v1", "NodeGroup", false))
	c, err := w.DependencyContainer().GetK8sClient()
	require.NoError(t, err)
	w.dynamic = c.Dynamic()
	return w
}

// api is the API server: unlike the SDK's fake it gives each write a new version and refuses a patch of an older one.
type api struct {
	hooktest.Reader
	w *world
}

func (w *world) client() (cluster, error) {
	return api{hooktest.Reader{Dynamic: w.dynamic, Scheme: kube.Scheme, Fail: func(kind string) error {
		w.reads = append(w.reads, kind)
		return w.fail[kind]
	}}, w}, w.fail["client"]
}

func (a api) Patch(ctx context.Context, object client.Object, patch client.Patch, _ ...client.PatchOption) error {
	w := a.w
	if w.race != nil {
		w.race()
	}
	for _, what := range []string{"patch", "patch " + object.GetName()} {
		if err := w.fail[what]; err != nil {
			return err
		}
	}
	require.Equal(w.t, types.MergePatchType, patch.Type())
	data, err := patch.Data(object)
	require.NoError(w.t, err)
	var sent unstructured.Unstructured
	require.NoError(w.t, json.Unmarshal(data, &sent.Object))
	stands, err := w.resource("NodeGroup").Get(ctx, object.GetName(), metav1.GetOptions{})
	if err != nil {
		return err
	}
	require.NotEmpty(w.t, sent.GetResourceVersion(), "a write must not be blind")
	if sent.GetResourceVersion() != stands.GetResourceVersion() {
		return apierrors.NewConflict(nodeGroupKind.WithResource("nodegroups").GroupResource(), object.GetName(), nil)
	}
	unstructured.RemoveNestedField(sent.Object, "metadata", "resourceVersion")
	data, err = json.Marshal(sent.Object)
	require.NoError(w.t, err)
	if _, err = w.resource("NodeGroup").Patch(ctx, object.GetName(), types.MergePatchType, data, metav1.PatchOptions{}); err != nil {
		return err
	}
	w.patches = append(w.patches, string(data))
	w.touch(object.GetName(), func(*unstructured.Unstructured) {})
	return nil
}

func (w *world) resource(kind string) dynamic.ResourceInterface {
	gv := v1alpha1.GroupVersion
	if kind == "NodeGroup" {
		gv = nodeGroupKind
	}
	return w.dynamic.Resource(gv.WithResource(strings.ToLower(kind) + "s"))
}

// touch changes a NodeGroup as somebody else does: its version is another then.
func (w *world) touch(name string, change func(*unstructured.Unstructured)) {
	w.t.Helper()
	u, err := w.resource("NodeGroup").Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	version, _ := strconv.Atoi(u.GetResourceVersion())
	u.SetResourceVersion(strconv.Itoa(version + 1))
	change(u)
	_, err = w.resource("NodeGroup").Update(context.Background(), u, metav1.UpdateOptions{})
	require.NoError(w.t, err)
}

func (w *world) put(objects ...runtime.Object) {
	w.t.Helper()
	for _, o := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		require.NoError(w.t, err)
		u := &unstructured.Unstructured{Object: content}
		if _, err := w.resource(u.GetKind()).Create(context.Background(), u, metav1.CreateOptions{}); err != nil {
			_, err = w.resource(u.GetKind()).Update(context.Background(), u, metav1.UpdateOptions{})
			require.NoError(w.t, err)
		}
	}
}

// run runs the hook, which never fails, and returns how many patches were taken.
func (w *world) run() int {
	w.t.Helper()
	before := len(w.patches)
	w.reads = nil
	w.RunHook()
	require.NoError(w.t, w.HookError())
	require.Empty(w.t, w.PatchedOperations())
	return len(w.patches) - before
}

// restore runs the hook of a module that is switched off.
func (w *world) restore() {
	w.t.Helper()
	input := helpers.NewInputBuilder(w.t).WithValuesJSON(string(w.ValuesJSON())).Build()
	input.Logger.SetOutput(w.log)
	require.NoError(w.t, restore{cluster: w.client, pause: time.Millisecond}.run(context.Background(), input))
}

func (w *world) settings(text string) {
	w.t.Helper()
	var all struct {
		GPUDRA map[string]any `json:"gpuDra"`
	}
	require.NoError(w.t, json.Unmarshal([]byte(hooktest.Values(w.t, root, text)), &all))
	w.ValuesSet("gpuDra", all.GPUDRA)
}

// announce is what the hook `nodegroups` says of the group.
func (w *world) announce(name, reason string) {
	w.put(&v1alpha1.GPUNodeGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUNodeGroup"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status:     v1alpha1.GPUNodeGroupStatus{Conditions: []metav1.Condition{{Type: condition.MemoryReserved, Reason: reason}}},
	})
}

func (w *world) kubelet(name string) (block any, annotation string) {
	w.t.Helper()
	u, err := w.resource("NodeGroup").Get(context.Background(), name, metav1.GetOptions{})
	require.NoError(w.t, err)
	block, _, err = unstructured.NestedFieldNoCopy(u.Object, "spec", "kubelet", "resourceReservation")
	require.NoError(w.t, err)
	return block, u.GetAnnotations()[core.AnnotationKey]
}

// facts puts the GPUStack of a controller that is alive, and a node of 2 TiB with eight cards as Deckhouse configures it.
func (w *world) facts(change ...func(*v1alpha1.GPUStackStatus)) {
	w.t.Helper()
	s, err := facts.FromValues(helpers.NewValuesFromJSON(string(w.ValuesJSON())))
	require.NoError(w.t, err)
	beat := metav1.NewTime(w.now)
	stack := &v1alpha1.GPUStack{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUStack"},
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StackName},
		Status:     v1alpha1.GPUStackStatus{Synced: true, SettingsHash: s.Hash, Heartbeat: &beat},
	}
	for _, c := range change {
		c(&stack.Status)
	}
	capacity := int64(2048) << 30
	w.put(stack, &v1alpha1.GPUNode{
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
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "deckhouse.io/v1", "kind": "NodeGroup",
		"metadata": map[string]any{"name": name, "resourceVersion": "1"}, "spec": map[string]any{"kubelet": kubelet},
	}}
}
