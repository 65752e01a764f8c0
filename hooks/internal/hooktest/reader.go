// Package hooktest holds what tests of hooks share: a client over the SDK's fake cluster, the settings and values schema as
// addon-operator applies it, and shapes that no filter may choke on.
package hooktest

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Reader reads the SDK's fake cluster, which is a dynamic client, the way handlers read a real one.
type Reader struct {
	// Dynamic client of the fake cluster.
	Dynamic dynamic.Interface
	Scheme  *runtime.Scheme
	// Fail returns the error of a read of a kind, or nil.
	Fail func(kind string) error
}

var _ client.Reader = Reader{}

// Get implements client.Reader.
func (r Reader) Get(ctx context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	resource, err := r.resource(into)
	if err != nil {
		return err
	}
	object, err := resource.Get(ctx, key.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	return fill(object.Object, into)
}

// List implements client.Reader.
func (r Reader) List(ctx context.Context, into client.ObjectList, _ ...client.ListOption) error {
	resource, err := r.resource(into)
	if err != nil {
		return err
	}
	list, err := resource.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	if u, ok := into.(*unstructured.UnstructuredList); ok {
		u.Items = list.Items
		return nil
	}
	return fill(list.UnstructuredContent(), into)
}

func (r Reader) resource(object runtime.Object) (dynamic.ResourceInterface, error) {
	gvk, err := apiutil.GVKForObject(object, r.Scheme)
	if err != nil {
		return nil, err
	}
	if meta.IsListType(object) {
		gvk.Kind = gvk.Kind[:len(gvk.Kind)-len("List")]
	}
	if r.Fail != nil {
		if err := r.Fail(gvk.Kind); err != nil {
			return nil, err
		}
	}
	resource, _ := meta.UnsafeGuessKindToResource(gvk)
	return r.Dynamic.Resource(resource), nil
}

func fill(content map[string]any, into runtime.Object) error {
	if u, ok := into.(*unstructured.Unstructured); ok {
		u.Object = content
		return nil
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(content, into)
}
