package reservation

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deckhouse/module-sdk/pkg"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/internal/platform"
	core "github.com/gpu-dra/gpu-dra/internal/reservation"
)

// tries of one write. The platform's controller writes the status of its NodeGroups often, and each time the version is
// another.
const tries = 3

// cluster is what the hooks do with the API server.
type cluster interface {
	client.Reader
	Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error
}

type writer struct {
	cluster
	log pkg.Logger
}

// send decides on the NodeGroup and sends the one patch. Where the object has changed meanwhile, it is read and decided on
// again: what somebody else just wrote must not be overwritten unseen. It returns what was decided last.
func (w *writer) send(ctx context.Context, group *unstructured.Unstructured, decide decision) (core.Decision, error) {
	for try := 1; ; try++ {
		g := platform.Reservation(group)
		d := decide(g)
		patch := d.Patch(g)
		if patch == nil {
			return d, nil
		}
		data, err := json.Marshal(patch)
		if err != nil {
			return d, err
		}
		// A copy, since the client fills in the answer.
		err = w.Patch(ctx, group.DeepCopy(), client.RawPatch(types.MergePatchType, data))
		switch {
		case err == nil:
			w.log.Info(fmt.Sprintf("%s: %s", d.Action, d.Message))
			return d, nil
		case apierrors.IsNotFound(err):
			return d, nil
		case !apierrors.IsConflict(err) || try == tries:
			return d, err
		}
		again := &unstructured.Unstructured{}
		again.SetGroupVersionKind(platform.NodeGroupKind)
		if err := w.Get(ctx, client.ObjectKeyFromObject(group), again); err != nil {
			return d, client.IgnoreNotFound(err)
		}
		group = again
	}
}
