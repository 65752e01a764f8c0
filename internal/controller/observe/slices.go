// Package observe holds what the controller keeps of the cluster: informers and transforms that drop all that is not used,
// so that its memory follows the number of nodes and not of devices.
package observe

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gpu-dra/gpu-dra/internal/inventory"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Slices follows the ResourceSlices and keeps of each only its digest. It is an informer of its own, since the reader of a
// controller-runtime cache hands out the typed objects and could not hold anything else.
type Slices struct {
	informer toolscache.SharedIndexInformer
}

// NewSlices returns Slices that digests by a set of profiles. Add it to the manager, which starts it.
func NewSlices(client resourceclient.ResourceSliceInterface, profiles *profile.Set) (*Slices, error) {
	digester := inventory.NewDigester(profiles)
	informer := toolscache.NewSharedIndexInformer(
		// Streamed where the server can (on by default in 1.34): one slice is in memory at a time. Otherwise in pages.
		toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
			ListWithContextFunc:  pages(slicePages(client, digester)),
			WatchFuncWithContext: client.Watch,
		}, client),
		&resourcev1.ResourceSlice{}, 0,
		toolscache.Indexers{
			inventory.IndexNode:           inventory.NodeIndex,
			inventory.IndexPool:           inventory.PoolIndex,
			inventory.IndexUnknownDriver:  inventory.UnknownDriverIndex,
			inventory.IndexInlineCounters: inventory.InlineCountersIndex,
		})
	if err := informer.SetTransform(digester.Transform); err != nil {
		return nil, fmt.Errorf("slices: %w", err)
	}
	return &Slices{informer: informer}, nil
}

func slicePages(client resourceclient.ResourceSliceInterface, digester *inventory.Digester) func(context.Context, metav1.ListOptions) (page, error) {
	return func(ctx context.Context, opts metav1.ListOptions) (page, error) {
		list, err := client.List(ctx, opts)
		if err != nil {
			return page{}, err
		}
		return condensed(list.ListMeta, list.Items, digester.Digest), nil
	}
}

// Start runs the informer until ctx ends.
func (s *Slices) Start(ctx context.Context) error {
	s.informer.RunWithContext(ctx)
	return nil
}

// Indexer holds the digests.
func (s *Slices) Indexer() toolscache.Indexer { return s.informer.GetIndexer() }

// Node returns what a node has.
func (s *Slices) Node(name string) (inventory.Node, error) {
	return inventory.NodeFrom(s.Indexer(), name)
}

// ClusterWide returns what belongs to no node.
func (s *Slices) ClusterWide() (inventory.ClusterWide, error) {
	return inventory.ClusterWideFrom(s.Indexer())
}

// Source gives a controller the requests that toRequests makes of the nodes whose inventory changed, after a delay that
// lets a driver publish the other slices of a pool; inventory.NoNode stands for what belongs to no node. The controller
// starts when all slices of the start are there.
func (s *Slices) Source(delay time.Duration, toRequests func(node string) []reconcile.Request) source.SyncingSource {
	wait := func(ctx context.Context) error {
		if !toolscache.WaitForCacheSync(ctx.Done(), s.informer.HasSynced) {
			return errors.New("the ResourceSlices could not be read in time")
		}
		return nil
	}
	return newSource("ResourceSlices", s.informer, wait, delay, toRequests,
		func(changed ...*inventory.Slice) []string {
			// The indices are those of this informer, so the lookup does not fail.
			nodes, _ := inventory.Touched(s.Indexer(), changed...)
			return nodes
		},
		digestChanged)
}

// digestChanged is false for updates that change nothing of what is kept, such as those of annotations.
func digestChanged(before, after *inventory.Slice) bool {
	old, now := *before, *after
	old.ObjectMeta, now.ObjectMeta = metav1.ObjectMeta{}, metav1.ObjectMeta{}
	return !reflect.DeepEqual(old, now)
}
