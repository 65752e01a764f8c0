//go:build e2e

package e2e

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// Where node-manager is off there are no NodeGroups: the label alone finds the nodes. Most of it is waiting, and of parallel tests the last
// in the order of files begin first: at the end nobody would share the machine with it.
func TestNoNodeGroupKind(t *testing.T) {
	t.Parallel()
	r := up(t)
	r.apply("examples/demo/nodes.yaml", "examples/demo/slices.yaml")
	r.startOperator(twoGroups)
	r.never("not ready before the controller has read the cluster", 20*time.Second, func(ctx context.Context) error {
		return r.noGroupReady(ctx)
	})
	r.startController()
	r.eventually("group ready without the kind", 90*time.Second, r.groupIs("gpu-h100", condition.Ready, "True", condition.GroupReady))
	require.NoError(t, r.groupIs("gpu-h100", condition.NodeGroupFound, "Unknown", condition.GroupKindAbsent)(context.Background()))

	r.cluster("controller", "stop")
	r.eventually("controller dead -> no group says Ready", 4*time.Minute, func(ctx context.Context) error {
		if err := r.groupIs("gpu-h100", condition.Ready, "Unknown", condition.GroupControllerStale)(ctx); err != nil {
			return err
		}
		return r.noGroupReady(ctx)
	})

	// The kind appears while the module runs.
	r.apply("examples/demo/nodegroup-crd.yaml")
	r.kubectl("wait", "--for=condition=Established", "crd/nodegroups.deckhouse.io", "--timeout=30s")
	r.apply("examples/demo/nodegroups.yaml")
	r.startController()
	r.eventually("kind appeared -> found", 2*time.Minute, r.groupIs("gpu-h100", condition.NodeGroupFound, "True", condition.GroupFound))
	r.eventually("controller back -> ready", 90*time.Second, r.groupIs("gpu-h100", condition.Ready, "True"))
	var g v1alpha1.GPUNodeGroup
	require.NoError(t, r.client.Get(context.Background(), client.ObjectKey{Name: "gpu-h100"}, &g))
	require.Len(t, g.OwnerReferences, 1, "the NodeGroup owns its GPUNodeGroup")
	require.Equal(t, "NodeGroup", g.OwnerReferences[0].Kind)
}
