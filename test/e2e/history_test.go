//go:build e2e

package e2e

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// history is every version that the objects of a kind had since it was begun: what comes before what, and how often something
// was written, a look at the last version does not tell.
type history struct {
	r       *rig
	kind    schema.GroupVersionKind
	mu      sync.Mutex
	entries []*unstructured.Unstructured
}

// record begins a history. What is there already are its first versions.
func (r *rig) record(kind schema.GroupVersionKind) *history {
	r.t.Helper()
	c, err := client.NewWithWatch(r.config, client.Options{})
	require.NoError(r.t, err)
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	require.NoError(r.t, c.List(context.Background(), list))
	h := &history{r: r, kind: kind}
	for i := range list.Items {
		h.entries = append(h.entries, &list.Items[i])
	}
	watch, err := c.Watch(context.Background(), list.DeepCopy(), &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}})
	require.NoError(r.t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range watch.ResultChan() {
			if u, ok := event.Object.(*unstructured.Unstructured); ok {
				h.mu.Lock()
				h.entries = append(h.entries, u)
				h.mu.Unlock()
			}
		}
	}()
	r.t.Cleanup(func() { watch.Stop(); <-done })
	return h
}

// of returns the versions of one object, the oldest first, up to the one that the API server has now: a watch delivers when it
// can.
func (h *history) of(name string) []*unstructured.Unstructured {
	h.r.t.Helper()
	h.catchUp(name)
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []*unstructured.Unstructured
	for _, u := range h.entries {
		if u.GetName() == name {
			out = append(out, u)
		}
	}
	return out
}

// catchUp waits until the watch has delivered what the API server has of an object, which may be nothing.
func (h *history) catchUp(name string) {
	h.r.t.Helper()
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(h.kind.GroupVersion().WithKind(h.kind.Kind + "List"))
	require.NoError(h.r.t, h.r.client.List(context.Background(), list))
	deadline := time.Now().Add(30 * time.Second)
	for i := range list.Items {
		current := &list.Items[i]
		for current.GetName() == name && !h.has(current) {
			require.True(h.r.t, time.Now().Before(deadline), "the watch has not delivered version %s of %s", current.GetResourceVersion(), name)
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// has tells whether a version of an object or a later one is there.
func (h *history) has(version *unstructured.Unstructured) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.ContainsFunc(h.entries, func(u *unstructured.Unstructured) bool {
		return u.GetUID() == version.GetUID() && h.r.revision(u) >= h.r.revision(version)
	})
}

// all returns the versions of all objects.
func (h *history) all() []*unstructured.Unstructured {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.entries)
}

// since are those after the first n.
func (h *history) since(name string, n int) []*unstructured.Unstructured { return h.of(name)[n:] }

// first returns the first version of an object from the n-th on that is as wanted.
func (h *history) first(name string, n int, wanted func(*unstructured.Unstructured) bool) *unstructured.Unstructured {
	h.r.t.Helper()
	versions := h.since(name, n)
	i := slices.IndexFunc(versions, wanted)
	require.GreaterOrEqual(h.r.t, i, 0, "none of the %d versions of %s", len(versions), name)
	return versions[i]
}

// revision is the point in time of a version, in the count that all objects share.
func (r *rig) revision(o client.Object) int {
	r.t.Helper()
	n, err := strconv.Atoi(o.GetResourceVersion())
	require.NoError(r.t, err)
	return n
}
