//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
)

const twoGroups = `
nodeGroups:
- name: gpu-h100
  drivers: [nvidia]
  expectedDevices: 8
- name: gpu-a100-mig
  drivers: [nvidia]
  partitioning: Static
claimTemplates:
- name: gpu-16gb-min
  namespaces: [inference]
  driver: nvidia
  minMemory: 16Gi
`

// demoCluster starts a cluster with the NodeGroups, nodes and slices of the demo, the module and the controller.
func demoCluster(t *testing.T, settings string, args ...string) *rig {
	t.Helper()
	return upNamed(t, "", args...).withDemo(settings)
}

func (r *rig) withDemo(settings string) *rig {
	r.t.Helper()
	r.applyDemo()
	r.startOperator(settings)
	r.startController()
	return r
}

func (r *rig) applyDemo() {
	r.t.Helper()
	r.apply("examples/demo/nodegroup-crd.yaml")
	r.kubectl("wait", "--for=condition=Established", "crd/nodegroups.deckhouse.io", "--timeout=30s")
	r.apply("examples/demo/nodegroups.yaml", "examples/demo/nodes.yaml", "examples/demo/slices.yaml")
}

// A node joins, its slices change and vanish: raw counts follow at once, registration after the real 60 seconds, values
// not at all.
func TestNodeLifecycle(t *testing.T) {
	t.Parallel()
	r := demoCluster(t, twoGroups)
	r.eventually("both groups ready after the start", 90*time.Second, func(ctx context.Context) error {
		if err := r.groupIs("gpu-h100", condition.Ready, "True", condition.GroupReady)(ctx); err != nil {
			return err
		}
		return r.groupIs("gpu-a100-mig", condition.Ready, "True", condition.GroupReady)(ctx)
	})

	r.addNode("h100-3", "gpu-h100")
	r.eventually("node joined -> group not ready", 30*time.Second, r.groupIs("gpu-h100", condition.Ready, "False", condition.GroupNodesMissing))
	require.NoError(t, r.nodeIs("h100-3", condition.Registered, "False", condition.NodeNotPublished)(context.Background()))

	r.publish(gpus("h100-3", 1, 4))
	r.eventually("slice published -> group ready", 30*time.Second, r.groupIs("gpu-h100", condition.Ready, "True"))
	r.eventually("fewer devices than expected is a condition", 30*time.Second, r.groupIs("gpu-h100", condition.DevicesExpected, "False", condition.GroupDevicesFewer))

	r.publish(gpus("h100-3", 2, 8))
	r.eventually("new generation -> counts", 30*time.Second, r.groupHas("gpu-h100", 24, 3))
	r.eventually("node label", 30*time.Second, r.nodeLabelled("h100-3", "true"))
	before, err := r.moduleValues()
	require.NoError(t, err)

	lost := time.Now()
	r.wipe("h100-3")
	r.eventually("wipe -> raw counts in GPUNode and GPUNodeGroup", 30*time.Second, func(ctx context.Context) error {
		n, err := r.node(ctx, "h100-3")
		if err != nil {
			return err
		}
		if got := n.Drivers[0].Devices.Physical; got != 0 {
			return fmt.Errorf("GPUNode still shows %d cards", got)
		}
		return r.groupHas("gpu-h100", 16, 2)(ctx)
	})
	require.NoError(t, r.groupIs("gpu-h100", condition.Ready, "True")(context.Background()), "a wipe is not a lost node yet")
	r.eventually("wipe -> Registered=False", 90*time.Second, r.nodeIs("h100-3", condition.Registered, "False", condition.NodeDriverLost))
	took := time.Since(lost)
	require.GreaterOrEqual(t, took, gpunode.LossDelay)
	require.LessOrEqual(t, took, 80*time.Second)
	r.eventually("Registered=False -> group not ready", 30*time.Second, r.groupIs("gpu-h100", condition.Ready, "False", condition.GroupNodesMissing))
	r.eventually("node label", 30*time.Second, r.nodeLabelled("h100-3", "false"))
	during, err := r.moduleValues()
	require.NoError(t, err)
	require.Equal(t, before, during, "values rest on the high-water count, not on slices that come and go")

	r.publish(gpus("h100-3", 3, 8))
	r.eventually("back -> Registered=True", 10*time.Second, r.nodeIs("h100-3", condition.Registered, "True", condition.NodeRegistered))
	r.eventually("back -> group ready", 30*time.Second, r.groupIs("gpu-h100", condition.Ready, "True"))

	require.NoError(t, r.client.Delete(context.Background(), &corev1.Node{ObjectMeta: metaName("h100-3")}))
	r.eventually("node leaves -> GPUNode goes", 60*time.Second, func(ctx context.Context) error {
		var n v1alpha1.GPUNode
		if err := r.client.Get(ctx, client.ObjectKey{Name: "h100-3"}, &n); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("GPUNode h100-3 is still there (%v)", err)
		}
		return r.groupHas("gpu-h100", 16, 2)(ctx)
	})
}

// The same cluster twice is no patch, no values change and no Helm revision.
func TestNothingChangesNothing(t *testing.T) {
	t.Parallel()
	r := demoCluster(t, twoGroups)
	r.eventually("ready", 90*time.Second, r.groupIs("gpu-h100", condition.Ready, "True"))
	r.eventually("ready", 90*time.Second, r.groupIs("gpu-a100-mig", condition.Ready, "True"))
	r.settled()
	values, err := r.moduleValues()
	require.NoError(t, err)
	revision := r.helmRevision(context.Background())
	versions := r.resourceVersions(context.Background())

	var all resourcev1.ResourceSliceList
	require.NoError(t, r.client.List(context.Background(), &all))
	for round := range 3 {
		for i := range all.Items {
			s := &all.Items[i]
			was := s.DeepCopy()
			s.Annotations = map[string]string{"example.com/round": fmt.Sprint(round)}
			require.NoError(t, r.client.Patch(context.Background(), s, client.MergeFrom(was)))
		}
		time.Sleep(time.Second)
	}
	// Longer than the one poll there is, of NodeGroups, each minute.
	time.Sleep(65 * time.Second)
	after, err := r.moduleValues()
	require.NoError(t, err)
	require.Equal(t, values, after)
	require.Equal(t, revision, r.helmRevision(context.Background()))
	require.Equal(t, versions, r.resourceVersions(context.Background()), "no object was written")
}

// resourceVersions of everything of ours but the GPUStack, whose heartbeat is renewed.
func (r *rig) resourceVersions(ctx context.Context) map[string]string {
	out := map[string]string{}
	var nodes v1alpha1.GPUNodeList
	var groups v1alpha1.GPUNodeGroupList
	var templates v1alpha1.GPUClaimTemplateList
	for _, list := range []client.ObjectList{&nodes, &groups, &templates} {
		require.NoError(r.t, r.client.List(ctx, list))
	}
	for _, o := range nodes.Items {
		out["GPUNode/"+o.Name] = o.ResourceVersion
	}
	for _, o := range groups.Items {
		out["GPUNodeGroup/"+o.Name] = o.ResourceVersion
	}
	for _, o := range templates.Items {
		out["GPUClaimTemplate/"+o.Name] = o.ResourceVersion
	}
	return out
}

// settled waits until nothing has been written for ten seconds and the operator's queues are empty.
func (r *rig) settled() {
	r.t.Helper()
	last, since := "", time.Now()
	r.eventually("settled", 120*time.Second, func(ctx context.Context) error {
		values, err := r.moduleValues()
		if err != nil {
			return err
		}
		now := fmt.Sprint(values, r.resourceVersions(ctx), r.helmRevision(ctx))
		if now != last {
			last, since = now, time.Now()
		}
		if quiet := time.Since(since); quiet < 10*time.Second {
			return fmt.Errorf("last change %s ago", quiet)
		}
		return nil
	})
}

func (r *rig) groupHas(name string, cards, registered int32) func(context.Context) error {
	return func(ctx context.Context) error {
		g, err := r.group(ctx, name)
		if err != nil {
			return err
		}
		var got int32
		for _, d := range g.Drivers {
			got += d.Devices.Physical
		}
		if got != cards || g.Drivers[0].Nodes != registered {
			return fmt.Errorf("group %s has %d cards on %d nodes, wanted %d on %d", name, got, g.Drivers[0].Nodes, cards, registered)
		}
		return nil
	}
}

func (r *rig) nodeLabelled(name, want string) func(context.Context) error {
	return func(ctx context.Context) error {
		var n corev1.Node
		if err := r.client.Get(ctx, client.ObjectKey{Name: name}, &n); err != nil {
			return err
		}
		if got := n.Labels[v1alpha1.LabelRegistered]; got != want {
			return fmt.Errorf("label %s is %q, wanted %q", v1alpha1.LabelRegistered, got, want)
		}
		return nil
	}
}

// No line that users see in the usual tables is wider than a terminal.
func (r *rig) requireNarrow(tables ...string) {
	r.t.Helper()
	for _, table := range tables {
		for _, line := range strings.Split(table, "\n") {
			require.LessOrEqual(r.t, len(line), 100, line)
		}
	}
}
