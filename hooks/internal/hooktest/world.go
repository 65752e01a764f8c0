package hooktest

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/testing/framework"
	"github.com/deckhouse/module-sdk/testing/helpers"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
	"github.com/gpu-dra/gpu-dra/hooks/internal/kube"
	"github.com/gpu-dra/gpu-dra/internal/platform"
)

// Root is the repository as a hook's package sees it.
var Root = filepath.Join("..", "..")

// Start is the time at which a World begins.
var Start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// World is a fake cluster with the kinds that hooks read, in which a hook runs as often as a test wants.
type World struct {
	*framework.HookExecutionConfig
	T *testing.T
	// Dynamic client of the fake cluster.
	Dynamic dynamic.Interface
	// Now is the hook's clock, if its test hands it on.
	Now time.Time
	// Fail is the error of a read of a kind; hooks' own tests give other keys a meaning.
	Fail map[string]error
}

// NewWorld returns an empty cluster, and the values that a module with these settings has before its first run.
func NewWorld(t *testing.T, settings string, config *pkg.HookConfig, run func(context.Context, *pkg.HookInput) error) *World {
	t.Helper()
	w := &World{T: t, Now: Start, Fail: map[string]error{}}
	w.HookExecutionConfig = framework.NewHookExecutionConfig(t, config, run,
		framework.WithInitialValues(Values(t, Root, settings)),
		framework.WithCRD(v1alpha1.Group, v1alpha1.GroupVersion.Version, "GPUNode", false),
		framework.WithCRD(v1alpha1.Group, v1alpha1.GroupVersion.Version, "GPUStack", false),
		framework.WithCRD(v1alpha1.Group, v1alpha1.GroupVersion.Version, "GPUNodeGroup", false),
		framework.WithCRD(platform.NodeGroupKind.Group, platform.NodeGroupKind.Version, platform.NodeGroupKind.Kind, false))
	c, err := w.DependencyContainer().GetK8sClient()
	require.NoError(t, err)
	w.Dynamic = c.Dynamic()
	return w
}

// Reader reads the cluster as handlers read a real one, and fails where Fail says so.
func (w *World) Reader() Reader {
	return Reader{Dynamic: w.Dynamic, Scheme: kube.Scheme, Fail: func(kind string) error { return w.Fail[kind] }}
}

// Resource is the client of one of the kinds.
func (w *World) Resource(kind string) dynamic.ResourceInterface {
	version := v1alpha1.GroupVersion
	if kind == platform.NodeGroupKind.Kind {
		version = platform.NodeGroupKind.GroupVersion()
	}
	return w.Dynamic.Resource(version.WithResource(strings.ToLower(kind) + "s"))
}

// Put creates or replaces objects.
func (w *World) Put(objects ...runtime.Object) {
	w.T.Helper()
	for _, o := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		require.NoError(w.T, err)
		u := &unstructured.Unstructured{Object: content}
		resource := w.Resource(u.GetKind())
		if _, err := resource.Create(context.Background(), u, metav1.CreateOptions{}); err != nil {
			_, err = resource.Update(context.Background(), u, metav1.UpdateOptions{})
			require.NoError(w.T, err)
		}
	}
}

// Drop deletes an object.
func (w *World) Drop(kind, name string) {
	w.T.Helper()
	require.NoError(w.T, w.Resource(kind).Delete(context.Background(), name, metav1.DeleteOptions{}))
}

// Stack is a GPUStack whose controller has seen the present settings and is alive.
func (w *World) Stack(change ...func(*v1alpha1.GPUStackStatus)) *v1alpha1.GPUStack {
	w.T.Helper()
	s, err := facts.FromValues(helpers.NewValuesFromJSON(string(w.ValuesJSON())))
	require.NoError(w.T, err)
	beat := metav1.NewTime(w.Now)
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

// NodeGroup is one of the platform's.
func NodeGroup(name string, spec map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(platform.NodeGroupKind)
	u.SetName(name)
	if spec != nil {
		u.Object["spec"] = spec
	}
	return u
}
