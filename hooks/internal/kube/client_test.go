package kube

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/kubeconfigtest"
	"github.com/gpu-dra/gpu-dra/internal/platform"
)

// The reader asks for what it wants and for nothing else: no discovery first. A kind that is not served is seen as absent.
func TestReader(t *testing.T) {
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		if r.URL.Path != "/apis/gpu-dra.deckhouse.io/v1alpha1/gpustacks/main" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion":"gpu-dra.deckhouse.io/v1alpha1","kind":"GPUStack","metadata":{"name":"main"},"status":{"synced":true}}`))
	}))
	defer server.Close()
	t.Setenv("KUBECONFIG", kubeconfigtest.File(t, server.URL))

	reader, err := Reader()
	require.NoError(t, err)
	var stack v1alpha1.GPUStack
	require.NoError(t, reader.Get(context.Background(), client.ObjectKey{Name: "main"}, &stack))
	require.True(t, stack.Status.Synced)
	for _, kind := range []string{"NodeGroupList", "GPUNodeGroupList"} {
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(platform.NodeGroupKind.GroupVersion().WithKind(kind))
		if kind != "NodeGroupList" {
			list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
		}
		require.True(t, platform.Absent(reader.List(context.Background(), list)))
	}
	require.Equal(t, []string{
		"/apis/gpu-dra.deckhouse.io/v1alpha1/gpustacks/main",
		"/apis/deckhouse.io/v1/nodegroups",
		"/apis/gpu-dra.deckhouse.io/v1alpha1/gpunodegroups",
	}, asked)
}

func TestNoConfiguration(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	_, err := Reader()
	require.Error(t, err)
	_, err = Discovery()
	require.Error(t, err)
}
