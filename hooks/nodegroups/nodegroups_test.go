package nodegroups

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/deckhouse/module-sdk/testing/framework"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/hooktest"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

const oneGroup = `
nodeGroups:
- {name: gpu, drivers: [nvidia]}
`

var dedicated = map[string]any{
	"kubelet":      map[string]any{"rootDir": "/data/kubelet"},
	"nodeTemplate": map[string]any{"taints": []any{map[string]any{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}}},
}

func node(name string, cards int32, registered bool) *v1alpha1.GPUNode {
	n := full(name, cards, registered)
	n.Status.Conditions[1] = metav1.Condition{Type: condition.SoleManager, Status: "True", Reason: condition.NodeSoleManager}
	return &n
}

// Before the controller has written anything the group is there, says that nobody knows, and the values come from the settings
// and the NodeGroup alone.
func TestFirstConverge(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.Put(nodeGroup("gpu", "u1", dedicated))
	w.run()
	w.requireReady("gpu", "Unknown", condition.GroupControllerNotSynced)
	require.Equal(t, []metav1.OwnerReference{{APIVersion: "deckhouse.io/v1", Kind: "NodeGroup", Name: "gpu", UID: "u1"}}, w.group("gpu").OwnerReferences)
	require.Equal(t, []values.NodeGroup{{
		Name: "gpu", Found: true, NodeSelector: map[string]string{"node.deckhouse.io/group": "gpu"}, KubeletRootDir: "/data/kubelet",
		Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: "Equal", Value: "gpu", Effect: "NoSchedule"}},
	}}, w.entries())
	w.runQuietly()
}

func TestNoNodeGroupsListed(t *testing.T) {
	w := newWorld(t, "{}")
	w.Put(w.Stack(), node("a", 8, true))
	w.runQuietly()
	require.Equal(t, "[]", w.ValuesGet(values.PathNodeGroups).Raw)
}

func TestAllNodesRegistered(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.Put(nodeGroup("gpu", "u1", nil))
	w.run()
	w.Put(node("a", 8, true), node("b", 8, true), w.Stack())
	w.Now = w.Now.Add(time.Minute)
	w.run()
	w.requireReady("gpu", "True", condition.GroupReady)
	require.Equal(t, "2/2", w.group("gpu").Status.Summary.Nodes)
	require.EqualValues(t, 8, w.entries()[0].DevicesPerNode)
	require.Equal(t, w.Now, w.condition("gpu", condition.Ready).LastTransitionTime.UTC())
	require.Equal(t, hooktest.Start, w.condition("gpu", condition.NodeGroupFound).LastTransitionTime.UTC(), "it has not changed")

	at := w.Now
	w.Now = w.Now.Add(time.Second)
	w.runQuietly()

	// A lost node changes the verdict and not the values.
	before := w.ValuesGet(values.PathNodeGroups).Raw
	lost := node("b", 8, false)
	lost.Status.Drivers[0].Devices = v1alpha1.DeviceCounts{}
	w.Put(lost)
	w.run()
	w.requireReady("gpu", "False", condition.GroupNodesMissing)
	require.Equal(t, before, w.ValuesGet(values.PathNodeGroups).Raw)
	require.Len(t, w.PatchedOperations(), 1)
	w.Put(node("b", 8, true))
	w.run()
	require.Empty(t, w.group("gpu").Status.Nodes.Missing, "what went away is gone")
	require.True(t, w.condition("gpu", condition.Ready).LastTransitionTime.After(at))
}

func TestControllerStale(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.Put(nodeGroup("gpu", "u1", nil), node("a", 8, true), w.Stack())
	w.run()
	w.requireReady("gpu", "True", condition.GroupReady)
	w.Now = w.Now.Add(v1alpha1.HeartbeatStaleAfter + time.Second)
	w.run()
	w.requireReady("gpu", "Unknown", condition.GroupControllerStale)
	w.runQuietly()

	// Its GPUNodes vanish while nobody can tell why: the render must not shrink.
	w.Drop("GPUNode", "a")
	w.run()
	require.EqualValues(t, 8, w.entries()[0].DevicesPerNode)
	w.Drop("GPUStack", "main")
	w.run()
	w.requireReady("gpu", "Unknown", condition.GroupControllerNotSynced)
	w.Put(w.Stack())
	w.run()
	w.requireReady("gpu", "True", condition.GroupNoNodes)
	require.Zero(t, w.entries()[0].DevicesPerNode, "now it is certain")
}

// A node whose container runtime has CDI off by default has its group prepared, until the last one was upgraded or left: not
// while nobody can tell, because the nodes' runtime may restart for it.
func TestCDIOff(t *testing.T) {
	off := func(name string) *v1alpha1.GPUNode {
		n := node(name, 8, true)
		n.Status.Conditions[3] = metav1.Condition{Type: condition.RuntimeReady, Status: "Unknown", Reason: condition.NodeCDIOffByDefault}
		return n
	}
	w := newWorld(t, "nodeGroups: [{name: gpu, drivers: [nvidia]}, {name: more, drivers: [nvidia]}]")
	w.Put(nodeGroup("gpu", "u1", nil), nodeGroup("more", "u2", nil), node("a", 8, true), w.Stack())
	w.run()
	require.NotContains(t, w.ValuesGet(values.PathNodeGroups).Raw, "cdiOff", "left out when false")
	require.Equal(t, condition.GroupCDISupported, w.condition("gpu", condition.RuntimeReady).Reason)

	w.Put(off("b"), off("c"))
	w.run()
	require.True(t, w.entries()[0].CDIOff)
	require.False(t, w.entries()[1].CDIOff, "of that group only")
	require.Equal(t, condition.GroupCDIOffByDefault, w.condition("gpu", condition.RuntimeReady).Reason)
	w.runQuietly()

	w.Put(node("b", 8, true))
	w.run()
	require.True(t, w.entries()[0].CDIOff, "one is left")

	w.Now = w.Now.Add(v1alpha1.HeartbeatStaleAfter + time.Second)
	w.Drop("GPUNode", "c")
	w.run()
	require.True(t, w.entries()[0].CDIOff, "nobody can tell where the node went")
	w.Drop("GPUStack", "main")
	w.run()
	require.True(t, w.entries()[0].CDIOff)
	w.Put(w.Stack())
	w.run()
	require.False(t, w.entries()[0].CDIOff, "now it is certain")
}

func TestSettingsHashMismatch(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.Put(nodeGroup("gpu", "u1", nil), node("a", 8, true), w.Stack(func(s *v1alpha1.GPUStackStatus) { s.SettingsHash = "others" }))
	w.run()
	w.requireReady("gpu", "Unknown", condition.GroupSettingsNotSeen)
	w.Put(w.Stack(func(s *v1alpha1.GPUStackStatus) { s.Synced = false }))
	w.run()
	w.requireReady("gpu", "Unknown", condition.GroupControllerNotSynced)
}

func TestNodeGroupLookups(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.Put(node("a", 8, true), w.Stack())
	kind := schema.GroupResource{Group: "deckhouse.io", Resource: "nodegroups"}

	w.Fail["NodeGroup"] = apierrors.NewNotFound(kind, "")
	w.run()
	require.Equal(t, condition.GroupKindAbsent, w.condition("gpu", condition.NodeGroupFound).Reason)
	w.requireReady("gpu", "True", condition.GroupReady)
	require.False(t, w.entries()[0].Found)

	delete(w.Fail, "NodeGroup")
	w.run()
	require.Equal(t, condition.GroupNotFound, w.condition("gpu", condition.NodeGroupFound).Reason)
	w.requireReady("gpu", "False", condition.GroupNodeGroupMissing)

	w.Put(nodeGroup("gpu", "u1", dedicated))
	w.run()
	require.Equal(t, condition.GroupFound, w.condition("gpu", condition.NodeGroupFound).Reason)
	require.EqualValues(t, "u1", w.group("gpu").OwnerReferences[0].UID)
	known := w.entries()

	// What cannot be read stays as it was known.
	w.Fail["NodeGroup"] = apierrors.NewForbidden(kind, "", errors.New("no right"))
	w.run()
	require.Equal(t, condition.GroupUnreadable, w.condition("gpu", condition.NodeGroupFound).Reason)
	w.requireReady("gpu", "True", condition.GroupReady)
	require.Equal(t, known, w.entries())
	require.EqualValues(t, "u1", w.group("gpu").OwnerReferences[0].UID)
	w.runQuietly()

	// Created anew: the owner reference follows, or the garbage collector would take the object.
	delete(w.Fail, "NodeGroup")
	w.Put(nodeGroup("gpu", "u2", dedicated))
	w.run()
	require.Len(t, w.group("gpu").OwnerReferences, 1)
	require.EqualValues(t, "u2", w.group("gpu").OwnerReferences[0].UID)
	w.Drop("NodeGroup", "gpu")
	w.run()
	require.Empty(t, w.group("gpu").OwnerReferences)
	w.runQuietly()
}

// A plugin that no flag tells where the kubelet is would publish devices that nobody can use: it is said, also while the NodeGroup
// cannot be read.
func TestKubeletRootThatThePluginCannotUse(t *testing.T) {
	w := newWorld(t, "nodeGroups: [{name: gpu, drivers: [intel-gpu]}]")
	w.Put(nodeGroup("gpu", "u1", dedicated), w.Stack())
	w.run()
	w.requireReady("gpu", "False", condition.GroupKubeletRoot)
	require.Contains(t, w.condition("gpu", condition.Ready).Message, `spec.kubelet.rootDir of NodeGroup gpu: found "/data/kubelet", expected "/var/lib/kubelet"`)
	w.Fail["NodeGroup"] = apierrors.NewForbidden(schema.GroupResource{Group: "deckhouse.io", Resource: "nodegroups"}, "", errors.New("no right"))
	w.run()
	w.requireReady("gpu", "False", condition.GroupKubeletRoot)
	require.Equal(t, "/data/kubelet", w.entries()[0].KubeletRootDir)
	delete(w.Fail, "NodeGroup")
	w.Put(nodeGroup("gpu", "u1", nil))
	w.run()
	w.requireReady("gpu", "True", condition.GroupNoNodes)
}

func TestOtherOwnersStay(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.Put(nodeGroup("gpu", "u1", nil))
	w.run()
	g := w.group("gpu")
	g.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: kind}
	g.OwnerReferences = append(g.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "x", UID: "o"})
	w.Put(g)
	w.Put(nodeGroup("gpu", "u2", nil))
	w.run()
	var uids []string
	for _, o := range w.group("gpu").OwnerReferences {
		uids = append(uids, string(o.UID))
	}
	slices.Sort(uids)
	require.Equal(t, []string{"o", "u2"}, uids)
	w.runQuietly()
}

func TestEntryRemoved(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.run()
	w.ValuesSet("gpuDra.nodeGroups", []any{map[string]any{"name": "other", "drivers": []any{"nvidia"}}})
	w.run()
	require.Nil(t, w.group("gpu"))
	require.NotNil(t, w.group("other"))
	require.Len(t, w.entries(), 1)
	w.runQuietly()
}

func TestDeletedObjectComesBack(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.Put(node("a", 8, true), w.Stack())
	w.run()
	w.Drop("GPUStack", "main")
	w.Drop("GPUNode", "a")
	w.Drop(kind, "gpu")
	w.run()
	require.NotNil(t, w.group("gpu"))
	require.EqualValues(t, 8, w.entries()[0].DevicesPerNode, "the values remember what the object did")
}

func TestUnknownDriver(t *testing.T) {
	w := newWorld(t, "nodeGroups: [{name: gpu, drivers: [nobody, nvidia]}, {name: good, drivers: [nvidia]}]")
	w.Put(nodeGroup("gpu", "u1", nil), nodeGroup("good", "u2", nil), w.Stack())
	w.run()
	w.requireReady("gpu", "False", condition.GroupDriverUnknown)
	w.requireReady("good", "True", condition.GroupNoNodes)
}

func TestOverlappingGroups(t *testing.T) {
	w := newWorld(t, "nodeGroups: [{name: gpu, drivers: [nvidia]}, {name: more, drivers: [nvidia], passive: true}]")
	n := node("a", 8, true)
	n.Status.Groups = []string{"gpu", "more"}
	n.Status.Conditions = append(n.Status.Conditions, metav1.Condition{Type: condition.GroupsDistinct, Status: "False", Reason: condition.NodeGroupsOverlap})
	w.Put(nodeGroup("gpu", "u1", map[string]any{"gpu": map[string]any{}}), nodeGroup("more", "u2", nil), n, w.Stack())
	w.run()
	for _, name := range []string{"gpu", "more"} {
		require.Equal(t, condition.GroupOverlap, w.condition(name, condition.GroupsDistinct).Reason)
		require.EqualValues(t, 1, w.group(name).Status.Nodes.Total)
	}
	require.Contains(t, w.condition("gpu", condition.SoleManager).Message, "node-manager")
	w.runQuietly()
}

// A run that can read nothing by itself fails nothing, writes no object and keeps the values.
func TestNothingReadable(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.Put(nodeGroup("gpu", "u1", dedicated), node("a", 8, true), w.Stack())
	w.run()
	for _, broken := range []map[string]error{
		{"client": errors.New("no configuration")},
		{"GPUNodeGroup": errors.New("timeout"), "GPUStack": errors.New("timeout"), "NodeGroup": errors.New("timeout")},
	} {
		w.Fail = broken
		w.runQuietly()
	}
	w.Fail = map[string]error{"GPUStack": errors.New("timeout")}
	w.run()
	w.requireReady("gpu", "Unknown", condition.GroupControllerNotSynced)
}

// An addon-operator that is killed between creating an object and writing its status leaves one without a status: a status
// with a part of the required counts would be refused for ever.
func TestObjectWithoutAStatus(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.AddKubeObject("apiVersion: gpu-dra.deckhouse.io/v1alpha1\nkind: GPUNodeGroup\nmetadata: {name: gpu}\n")
	w.Put(node("a", 8, false), w.Stack())
	w.run()
	require.Equal(t, "0/1", w.group("gpu").Status.Summary.Nodes)
	w.runQuietly()

	odd := w.KubernetesGlobalResource(kind, "gpu")
	odd.Object["status"] = map[string]any{"nodes": "many", "conditions": "fine"}
	w.Put(odd)
	w.run()
	require.Equal(t, "0/1", w.group("gpu").Status.Summary.Nodes)
	w.runQuietly()
}

func TestOperationsAreInOrderAndFew(t *testing.T) {
	w := newWorld(t, oneGroup)
	w.Put(nodeGroup("gpu", "u1", nil))
	w.run()
	require.Len(t, w.PatchedOperations(), 2, "an object is created with its owner, then gets its status")
	require.Equal(t, framework.PatchTypeCreateIfNotExists, w.PatchedOperations()[0].Type)
	require.Equal(t, framework.PatchTypeMergePatch, w.PatchedOperations()[1].Type)
}
