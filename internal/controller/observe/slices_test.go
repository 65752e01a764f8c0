package observe

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/gpu-dra/gpu-dra/internal/inventory"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

const driver = "gpu.example.com"

func profiles(t *testing.T) *profile.Set {
	t.Helper()
	set, err := profile.NewSet(profile.Driver{Name: "example", DriverName: driver})
	require.NoError(t, err)
	return set
}

func slice(name, node, pool string, count int64, devices int) *resourcev1.ResourceSlice {
	s := &resourcev1.ResourceSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       resourcev1.ResourceSliceSpec{Driver: driver, Pool: resourcev1.ResourcePool{Name: pool, Generation: 1, ResourceSliceCount: count}},
	}
	if node == "" {
		s.Spec.AllNodes = ptr.To(true)
	} else {
		s.Spec.NodeName = &node
	}
	for i := range devices {
		s.Spec.Devices = append(s.Spec.Devices, resourcev1.Device{Name: fmt.Sprint("d", i)})
	}
	return s
}

// listed is a fake client that says that it cannot stream lists, as the fakes of single resources forget to do.
type listed struct {
	resourceclient.ResourceSliceInterface
}

func (listed) IsWatchListSemanticsUnSupported() bool { return true }

// started returns Slices over client-go's fake clientset, and the queue of a source of them.
func started(t *testing.T, objects ...runtime.Object) (*Slices, *fake.Clientset, workqueue.TypedRateLimitingInterface[reconcile.Request]) {
	t.Helper()
	client := fake.NewClientset(objects...)
	s, err := NewSlices(listed{client.ResourceV1().ResourceSlices()}, profiles(t))
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(cancel)
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	source := s.Source(time.Millisecond, func(node string) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: "node " + node}}}
	})
	require.NoError(t, source.Start(ctx, q))
	go func() { _ = s.Start(ctx) }()
	waiting, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	require.NoError(t, source.WaitForSync(waiting))
	return s, client, q
}

// next returns the name of the next request.
func next(t *testing.T, q workqueue.TypedRateLimitingInterface[reconcile.Request]) string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		r, _ := q.Get()
		q.Done(r)
		got <- r.Name
	}()
	select {
	case name := <-got:
		return name
	case <-time.After(10 * time.Second):
		t.Fatal("no request")
		return ""
	}
}

func TestSlicesKeepDigestsOnly(t *testing.T) {
	s, client, q := started(t, slice("a", "n1", "n1", 1, 3), slice("b", "", "shared", 1, 2))
	for _, o := range s.Indexer().List() {
		require.IsType(t, &inventory.Slice{}, o)
	}
	require.ElementsMatch(t, []string{"node n1", "node "}, []string{next(t, q), next(t, q)})

	n, err := s.Node("n1")
	require.NoError(t, err)
	require.EqualValues(t, 3, n.Drivers[0].Counts.Published)
	wide, err := s.ClusterWide()
	require.NoError(t, err)
	require.EqualValues(t, 2, wide.SharedPools[0].Devices.Published)

	// A slice more, in the pool of another node too: both nodes are looked at, since both may no longer be complete.
	more := slice("c", "n2", "n1", 2, 1)
	_, err = client.ResourceV1().ResourceSlices().Create(context.Background(), more, metav1.CreateOptions{})
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"node n1", "node n2"}, []string{next(t, q), next(t, q)})

	require.NoError(t, client.ResourceV1().ResourceSlices().Delete(context.Background(), "c", metav1.DeleteOptions{}))
	require.ElementsMatch(t, []string{"node n1", "node n2"}, []string{next(t, q), next(t, q)})
}

func TestDigestChanged(t *testing.T) {
	digest := inventory.NewDigester(profiles(t))
	changed := func(a, b *resourcev1.ResourceSlice) bool {
		return digestChanged(digest.Digest(a), digest.Digest(b))
	}
	annotated := slice("a", "n1", "n1", 1, 3)
	annotated.ResourceVersion, annotated.Annotations = "9", map[string]string{"x": "y"}
	require.False(t, changed(slice("a", "n1", "n1", 1, 3), annotated))
	require.True(t, changed(slice("a", "n1", "n1", 1, 3), slice("a", "n1", "n1", 1, 2)))
	require.True(t, changed(slice("a", "n1", "n1", 1, 3), slice("a", "n2", "n1", 1, 3)))
	next := slice("a", "n1", "n1", 1, 3)
	next.Spec.Pool.Generation++
	require.True(t, changed(slice("a", "n1", "n1", 1, 3), next))
}

func TestPages(t *testing.T) {
	digester := inventory.NewDigester(profiles(t))
	var asked []metav1.ListOptions
	answers := []*resourcev1.ResourceSliceList{
		{ListMeta: metav1.ListMeta{ResourceVersion: "5", Continue: "more"}, Items: []resourcev1.ResourceSlice{*slice("a", "n1", "n1", 1, 3)}},
		{ListMeta: metav1.ListMeta{ResourceVersion: "5"}, Items: []resourcev1.ResourceSlice{*slice("b", "n2", "n2", 1, 3)}},
	}
	client := sliceLists{list: func(o metav1.ListOptions) (*resourcev1.ResourceSliceList, error) {
		asked = append(asked, o)
		return answers[len(asked)-1], nil
	}}
	list := pages(slicePages(client, digester))
	out, err := list(context.Background(), metav1.ListOptions{ResourceVersion: "0", Limit: 500})
	require.NoError(t, err)
	require.Equal(t, []metav1.ListOptions{{Limit: pageSize}, {Limit: pageSize, Continue: "more"}}, asked)
	items, err := meta.ExtractList(out)
	require.NoError(t, err)
	require.Len(t, items, 2)
	require.IsType(t, &inventory.Slice{}, items[0])
	accessor, err := meta.ListAccessor(out)
	require.NoError(t, err)
	require.Equal(t, "5", accessor.GetResourceVersion())
	require.Empty(t, accessor.GetContinue(), "the reflector must take it for the whole list")

	expired := apierrors.NewResourceExpired("too old")
	client.list = func(metav1.ListOptions) (*resourcev1.ResourceSliceList, error) { return nil, expired }
	_, err = pages(slicePages(client, digester))(context.Background(), metav1.ListOptions{})
	require.True(t, errors.Is(err, expired))
}

// sliceLists answers lists, in pages as client-go's fakes do not.
type sliceLists struct {
	resourceclient.ResourceSliceInterface
	list func(metav1.ListOptions) (*resourcev1.ResourceSliceList, error)
}

func (s sliceLists) List(_ context.Context, o metav1.ListOptions) (*resourcev1.ResourceSliceList, error) {
	return s.list(o)
}
