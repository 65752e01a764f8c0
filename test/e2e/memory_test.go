//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/platform"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
)

// memoryGroups are NodeGroups that each say something else of their kubelets' reservation.
const memoryGroups = `
{apiVersion: deckhouse.io/v1, kind: NodeGroup, metadata: {name: auto}, spec: {nodeType: Static, kubelet: {maxPods: 120, resourceReservation: {mode: Auto}}}}
---
{apiVersion: deckhouse.io/v1, kind: NodeGroup, metadata: {name: bare}, spec: {nodeType: Static}}
---
{apiVersion: deckhouse.io/v1, kind: NodeGroup, metadata: {name: small}, spec: {nodeType: Static, kubelet: {resourceReservation: {mode: Static, static: {memory: 1073741824, cpu: "2"}}}}}
---
{apiVersion: deckhouse.io/v1, kind: NodeGroup, metadata: {name: large}, spec: {nodeType: Static, kubelet: {resourceReservation: {mode: Static, static: {memory: 64Gi}}}}}
---
{apiVersion: deckhouse.io/v1, kind: NodeGroup, metadata: {name: unreserved}, spec: {nodeType: Static, kubelet: {resourceReservation: {mode: "Off"}}}}
---
{apiVersion: deckhouse.io/v1, kind: NodeGroup, metadata: {name: numa}, spec: {nodeType: Static, kubelet: {topologyManager: {enabled: true}, resourceReservation: {mode: Auto}}}}
`

// refusals are the reasons why a group's NodeGroup is left alone, whatever the settings.
var refusals = map[string]string{"large": condition.GroupMemoryLarger, "unreserved": condition.GroupMemoryReservationOff, "numa": condition.GroupMemoryTopologyManager}

func memorySettings(reservation string) string {
	out := "memoryReservation: " + reservation + "\nnodeGroups:\n"
	for _, group := range []string{"auto", "bare", "small", "large", "unreserved", "numa"} {
		out += fmt.Sprintf("- {name: %s, drivers: [nvidia]}\n", group)
	}
	return out
}

// What Deckhouse reserves by itself on a node of 2 TiB, and its hard eviction there (internal/reservation's tests have them
// from the node's own script).
const (
	twoTiB   = 2048 << 30
	autoOf2T = 23836019917
	hardOf2T = 21990232556
	// recommended with 4Gi of systemNeed, and raised with 6Gi.
	recommended, raised = "25068Mi", "27116Mi"
)

// TestMemoryReservation goes through the life of a reservation: advised, announced and written, given back, written again and
// given up once somebody else changed it, kept through runs in which nothing changes, and given back when the module is
// switched off.
func TestMemoryReservation(t *testing.T) {
	t.Parallel()
	r := up(t, "--deckhouse-gates")
	r.apply("examples/demo/nodegroup-crd.yaml")
	r.kubectl("wait", "--for=condition=Established", "crd/nodegroups.deckhouse.io", "--timeout=30s")
	r.kubectl("create", "-f", r.file("nodegroups.yaml", memoryGroups))
	for _, group := range []string{"auto", "bare", "small", "large", "unreserved", "numa"} {
		r.memoryNode(group+"-1", group)
		r.publish(gpus(group+"-1", 1, 8))
	}
	groups := r.record(platform.NodeGroupKind)
	r.startOperator(memorySettings("{mode: Advise}"))
	r.startController()

	for group, says := range map[string]string{
		"auto": "in mode Apply spec.kubelet.resourceReservation becomes", "bare": "in mode Apply", "small": "in mode Apply",
		"large": "nor would be in mode Apply", "unreserved": "nor would be in mode Apply", "numa": "nor would be in mode Apply",
	} {
		r.eventually("advised: "+group, 90*time.Second, r.memoryIs(group, "False", condition.GroupMemoryAdvise, says))
	}
	g, err := r.group(context.Background(), "auto")
	require.NoError(t, err)
	require.Equal(t, recommended, g.MemoryReservation.Recommended.String())
	require.EqualValues(t, autoOf2T, g.MemoryReservation.Applied.Value(), "measured on the node, to the byte")
	for group := range refusals {
		require.Len(t, groups.of(group), 1)
	}
	require.Len(t, groups.of("auto"), 1, "advice writes nothing")

	// Said first, then written, all in one patch.
	said := r.record(groupKind)
	r.settings(memorySettings("{mode: Apply}"))
	r.eventually("written: auto", 90*time.Second, r.reserves("auto", map[string]any{"mode": "Static", "static": wholeReservation(recommended)}))
	r.eventually("written: bare", 30*time.Second, r.reserves("bare", map[string]any{"mode": "Static", "static": wholeReservation(recommended)}))
	r.eventually("written: small", 30*time.Second, r.reserves("small", map[string]any{"mode": "Static", "static": map[string]any{"memory": recommended, "cpu": "2"}}))
	for group, before := range map[string]string{"auto": `"before":{"mode":"Auto"}`, "bare": `"before":null`, "small": `"before":{"mode":"Static","static":{"cpu":"2","memory":1073741824}}`} {
		written := groups.since(group, 1)
		require.Len(t, written, 1, "one patch")
		require.Contains(t, written[0].GetAnnotations()[reservation.AnnotationKey], before)
		announced := said.first(group, 0, reasonIs(condition.GroupMemoryApplying))
		require.Contains(t, fmt.Sprint(announced.Object), "every kubelet of the group restarts")
		require.Less(t, r.revision(announced), r.revision(written[0]), "said before it was done")
	}
	pods, _, err := unstructured.NestedInt64(groups.of("auto")[1].Object, "spec", "kubelet", "maxPods")
	require.NoError(t, err)
	require.EqualValues(t, 120, pods, "what else the NodeGroup says of its kubelets stays")
	for group, reason := range refusals {
		r.eventually("left alone: "+group, 30*time.Second, r.memoryIs(group, "False", reason, "NodeGroup "+group))
	}
	r.kubelet("auto-1", 25068<<20)
	r.eventually("measured: auto", 90*time.Second, r.memoryIs("auto", "True", condition.GroupMemoryApplied, recommended))

	// The way back.
	r.settings(memorySettings("{mode: Advise}"))
	r.eventually("given back: auto", 90*time.Second, r.reserves("auto", map[string]any{"mode": "Auto"}))
	r.eventually("given back: bare", 30*time.Second, r.reserves("bare", nil))
	r.eventually("given back: small", 30*time.Second, r.reserves("small", map[string]any{"mode": "Static", "static": map[string]any{"memory": int64(1 << 30), "cpu": "2"}}))
	for _, group := range []string{"auto", "bare", "small"} {
		back := groups.since(group, 2)
		require.Len(t, back, 1, "one patch")
		require.Empty(t, back[0].GetAnnotations(), "the annotation goes with it")
	}

	// Written again, and changed by somebody else.
	r.kubelet("auto-1", autoOf2T)
	r.settings(memorySettings("{mode: Apply}"))
	for _, group := range []string{"auto", "bare", "small"} {
		r.eventually("written again: "+group, 90*time.Second, r.reservesMemory(group, recommended))
	}
	r.kubectl("patch", "nodegroup", "auto", "--type=merge", "-p", `{"spec":{"kubelet":{"resourceReservation":{"static":{"memory":"8Gi"}}}}}`)
	r.eventually("backed off", 90*time.Second, r.memoryIs("auto", "False", condition.GroupMemoryChanged, "somebody changed it"))
	r.settings(memorySettings("{mode: Apply, systemNeed: 6Gi}"))
	r.eventually("the others follow the settings", 90*time.Second, r.reservesMemory("bare", raised))
	r.eventually("the others follow the settings", 30*time.Second, r.reservesMemory("small", raised))
	require.Contains(t, last(groups.of("bare")).GetAnnotations()[reservation.AnnotationKey], `"before":null`, "what stood before us, not what we wrote before")

	r.kubelet("bare-1", 27116<<20)
	r.eventually("measured: bare", 90*time.Second, r.memoryIs("bare", "True", condition.GroupMemoryApplied, raised))
	r.nothingChangesDuringAPoll(groups)
	require.Len(t, groups.of("auto"), 5, "as created, written, given back, written again, and theirs: nothing is written to a group that we backed off from")

	// Switched off with reservations in force.
	r.switchOff(memorySettings("{mode: Apply}"))
	r.eventually("switched off: bare", 30*time.Second, r.reserves("bare", nil))
	r.eventually("switched off: small", 30*time.Second, r.reserves("small", map[string]any{"mode": "Static", "static": map[string]any{"memory": int64(1 << 30), "cpu": "2"}}))
	r.eventually("switched off: auto", 30*time.Second, r.reserves("auto", map[string]any{"mode": "Static", "static": wholeReservation("8Gi")}))
	r.never("and it stays so", 10*time.Second, func(ctx context.Context) error {
		for _, group := range []string{"auto", "bare", "small"} {
			if a := last(groups.of(group)).GetAnnotations(); len(a) > 0 {
				return fmt.Errorf("NodeGroup %s has annotations %v", group, a)
			}
		}
		return r.reserves("bare", nil)(ctx)
	})
	for group := range refusals {
		require.Len(t, groups.of(group), 1, "NodeGroup %s was never written", group)
	}
}

// nothingChangesDuringAPoll waits longer than the one poll there is and requires that nobody has written anything.
func (r *rig) nothingChangesDuringAPoll(groups *history) {
	r.t.Helper()
	require.NoError(r.t, r.stackIs(condition.FeatureGatesConsistent, "True")(context.Background()), "feature gates are known too")
	r.settled()
	values, err := r.moduleValues()
	require.NoError(r.t, err)
	require.Contains(r.t, values, `"on": [`, "feature gates that are on are in the values")
	revision, versions, written := r.helmRevision(context.Background()), r.resourceVersions(context.Background()), len(groups.all())
	time.Sleep(65 * time.Second)
	after, err := r.moduleValues()
	require.NoError(r.t, err)
	require.Equal(r.t, values, after)
	require.Equal(r.t, revision, r.helmRevision(context.Background()))
	require.Equal(r.t, versions, r.resourceVersions(context.Background()))
	require.Len(r.t, groups.all(), written, "no NodeGroup was written")
}

// wholeReservation is what a reservation of our own holds in place of Auto.
func wholeReservation(memory string) map[string]any {
	return map[string]any{"memory": memory, "cpu": "70m", "ephemeralStorage": "1Gi"}
}

// memoryNode adds a fake node of 2 TiB whose kubelet reserves what Deckhouse does by itself.
func (r *rig) memoryNode(name, group string) {
	r.t.Helper()
	r.create(&corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{groupLabel: group, corev1.LabelHostname: name},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Status: corev1.NodeStatus{Capacity: nodeResources(twoTiB), Allocatable: nodeResources(twoTiB - autoOf2T - hardOf2T)},
	})
}

func nodeResources(memory int64) corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("64"), corev1.ResourcePods: resource.MustParse("120"),
		corev1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI)}
}

// kubelet plays a kubelet that has started with another reservation.
func (r *rig) kubelet(node string, reserved int64) {
	r.t.Helper()
	n := &corev1.Node{ObjectMeta: metaName(node)}
	require.NoError(r.t, r.client.Get(context.Background(), client.ObjectKeyFromObject(n), n))
	was := n.DeepCopy()
	n.Status.Allocatable = nodeResources(twoTiB - reserved - hardOf2T)
	require.NoError(r.t, r.client.Status().Patch(context.Background(), n, client.MergeFrom(was)))
}
