package observe

import (
	"context"
	"errors"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/gpu-dra/gpu-dra/internal/claimstate"
	"github.com/gpu-dra/gpu-dra/internal/inventory"
)

// Claims follows all ResourceClaims and keeps of each only what is counted. Metrics and one column rest on it and nothing else
// does, so nothing waits for it where it is out of reach.
type Claims struct {
	*reachable
	slices *Slices
}

// NewClaims returns Claims whose devices are those of slices. Add it to the manager, which starts it.
func NewClaims(client resourceclient.ResourceClaimsGetter, slices *Slices) (*Claims, error) {
	claims := client.ResourceClaims(metav1.NamespaceAll)
	informer := toolscache.NewSharedIndexInformer(
		toolscache.ToListWatcherWithWatchListSemantics(&toolscache.ListWatch{
			ListWithContextFunc: pages(func(ctx context.Context, opts metav1.ListOptions) (page, error) {
				list, err := claims.List(ctx, opts)
				if err != nil {
					return page{}, err
				}
				return condensed(list.ListMeta, list.Items, claimstate.Condense), nil
			}),
			WatchFuncWithContext: claims.Watch,
		}, client),
		&resourcev1.ResourceClaim{}, 0, toolscache.Indexers{claimstate.IndexNode: claimstate.NodeIndex})
	r, err := follow(informer, claimstate.Transform)
	return &Claims{r, slices}, err
}

// All returns the claims, in no order, or why they could not be read.
func (c *Claims) All() ([]*claimstate.Claim, error) {
	if err := c.doubt(); err != nil {
		return nil, err
	}
	return typed(c.informer.GetStore().List()), nil
}

// Unreadable says why the claims could not be read, nil once they were and while they are being read: nobody waits for them.
func (c *Claims) Unreadable() error {
	if err := c.doubt(); !errors.Is(err, ErrNotRead) {
		return err
	}
	return nil
}

// Allocated counts by driver the devices on a node that claims hold, nil while the claims are not read.
func (c *Claims) Allocated(node string) (map[string]int32, error) {
	if c.doubt() != nil {
		return nil, nil
	}
	objects, err := c.informer.GetIndexer().ByIndex(claimstate.IndexNode, node)
	if err != nil {
		return nil, err
	}
	return claimstate.OnNode(typed(objects), node, c.slices.Locate), nil
}

func typed(objects []any) []*claimstate.Claim {
	out := make([]*claimstate.Claim, 0, len(objects))
	for _, o := range objects {
		if claim, ok := o.(*claimstate.Claim); ok {
			out = append(out, claim)
		}
	}
	return out
}

// Source gives a controller the requests that toRequests makes of the nodes on which a claim came to hold devices, or ceased
// to, after a delay in which others may too. The controller starts when the claims were read, or could not be.
func (c *Claims) Source(delay time.Duration, toRequests func(node string) []reconcile.Request) source.SyncingSource {
	return newSource("ResourceClaims", c.informer, c.wait, delay, toRequests,
		func(changed ...*claimstate.Claim) []string {
			var nodes []string
			for _, claim := range changed {
				nodes = append(nodes, claim.Node())
			}
			return nodes
		},
		// Dropped are updates such as those of a driver's status of its devices.
		func(before, after *claimstate.Claim) bool { return !before.Equal(after) })
}

// Once gives a controller the requests that enqueue makes when the claims were read. A controller that started because they could
// not be read has looked at everything without them, and Source names only what claims hold.
func (c *Claims) Once(enqueue func(context.Context, workqueue.TypedRateLimitingInterface[reconcile.Request])) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		go func() {
			select {
			case <-ctx.Done():
			case <-c.informer.HasSyncedChecker().Done():
				enqueue(ctx, q)
			}
		}()
		return nil
	})
}

// Locate finds what the slices say of a device.
func (s *Slices) Locate(pool string, id inventory.DeviceID) (inventory.Device, bool) {
	// The index is that of this informer, so the lookup does not fail.
	device, ok, _ := inventory.Locate(s.Indexer(), pool, id)
	return device, ok
}
