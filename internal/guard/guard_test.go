package guard_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/internal/guard"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

var nodes = schema.GroupResource{Resource: "nodes"}

func node(labels map[string]string, allocatable corev1.ResourceList) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "gpu-1", Labels: labels},
		Status:     corev1.NodeStatus{Allocatable: allocatable},
	}
}

func amount(n int64) resource.Quantity { return *resource.NewQuantity(n, resource.DecimalSI) }

func TestReasons(t *testing.T) {
	rules := guard.Rules{
		PluginResources: []string{"acme.example/npu", "acme.example/part-*"},
		Labels: []profile.ManagerTrace{
			{NodeLabel: "acme.example/operator", NodeLabelValues: []string{"true"}},
			{NodeLabel: "other.example/managed"},
		},
	}
	const lacksDriver = "node gpu-1 lacks the ACME driver: install or start it there; if it is there, check the setting driverRoot of the driver; " +
		"looked for /host/bin/acme, /host/sbin/acme (permission denied)"
	driver := guard.Missing{What: "the ACME driver", LookedFor: []string{"/host/bin/acme", "/host/sbin/acme (permission denied)"}}
	for name, c := range map[string]struct {
		in   guard.Input
		want []string
	}{
		"a clear node": {in: guard.Input{Node: node(map[string]string{"acme.example/operator": "false"}, corev1.ResourceList{
			"cpu": amount(8), "acme.example/npu": amount(0), "third.example/gpu": amount(8)}), Rules: rules}},
		"no rules": {in: guard.Input{Node: node(map[string]string{"other.example/managed": "true"}, corev1.ResourceList{"acme.example/npu": amount(8)})}},
		"a device plugin": {
			in: guard.Input{Node: node(nil, corev1.ResourceList{"acme.example/npu": amount(8)}), Rules: rules},
			want: []string{"node gpu-1 still advertises acme.example/npu: 8 (allocatable): take the device plugin off this node, " +
				"or set the node label gpu-dra.deckhouse.io/passive=true"},
		},
		"many resources of a device plugin are one reason": {
			in: guard.Input{Node: node(nil, corev1.ResourceList{
				"acme.example/part-a": amount(1), "acme.example/part-b": amount(2), "acme.example/part-c": amount(3),
				"acme.example/part-d": amount(4), "acme.example/part-e": amount(5)}), Rules: rules},
			want: []string{"node gpu-1 still advertises acme.example/part-a: 1, acme.example/part-b: 2, acme.example/part-c: 3 and 2 more (allocatable): " +
				"take the device plugin off this node, or set the node label gpu-dra.deckhouse.io/passive=true"},
		},
		"labels of other managers": {
			in: guard.Input{Node: node(map[string]string{"acme.example/operator": "true", "other.example/managed": ""}, nil), Rules: rules},
			want: []string{"node gpu-1 carries acme.example/operator=true, other.example/managed= of another manager of its accelerators: " +
				"take that manager off this node, or set the node label gpu-dra.deckhouse.io/passive=true"},
		},
		"something is missing on the host": {
			in:   guard.Input{Node: node(nil, nil), Missing: []guard.Missing{driver}},
			want: []string{lacksDriver},
		},
		"the most dangerous stands first": {
			in: guard.Input{Node: node(map[string]string{"other.example/managed": "x"}, corev1.ResourceList{"acme.example/npu": amount(8)}), Rules: rules,
				Missing: []guard.Missing{driver, {What: "a clock", LookedFor: []string{"/host/clock"}}}},
			want: []string{
				"node gpu-1 still advertises acme.example/npu: 8 (allocatable): take the device plugin off this node, or set the node label gpu-dra.deckhouse.io/passive=true",
				"node gpu-1 carries other.example/managed=x of another manager of its accelerators: take that manager off this node, or set the node label gpu-dra.deckhouse.io/passive=true",
				lacksDriver,
				"node gpu-1 lacks a clock: install or start it there; if it is there, check the setting driverRoot of the driver; looked for /host/clock",
			},
		},
		"no right": {
			in: guard.Input{Err: apierrors.NewForbidden(nodes, "gpu-1", errors.New("user x cannot get it"))},
			want: []string{"node gpu-1 cannot be read: give the ServiceAccount of this pod the right to get nodes, by a ClusterRole " +
				`(nodes "gpu-1" is forbidden: user x cannot get it)`},
		},
		"no node": {
			in:   guard.Input{Err: apierrors.NewNotFound(nodes, "gpu-1")},
			want: []string{`there is no node gpu-1: --node must be the name of the node that this pod runs on, as in its spec.nodeName (nodes "gpu-1" not found)`},
		},
		"no API server, and something is missing": {
			in: guard.Input{Err: errors.New("connection refused"), Rules: rules, Missing: []guard.Missing{driver}},
			want: []string{"whether another manager is on node gpu-1 is unknown: see whether this node reaches the API server (connection refused)",
				lacksDriver},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.in.Name = "gpu-1"
			require.Equal(t, c.want, guard.Reasons(c.in))
		})
	}
}

func TestHopeless(t *testing.T) {
	require.True(t, guard.Hopeless(apierrors.NewForbidden(nodes, "n", nil)))
	require.True(t, guard.Hopeless(apierrors.NewNotFound(nodes, "n")))
	for _, err := range []error{
		errors.New("dial tcp: connection refused"), apierrors.NewUnauthorized("token"), apierrors.NewTooManyRequestsError("slow down"),
		apierrors.NewInternalError(errors.New("etcd")), apierrors.NewServiceUnavailable("starting"),
	} {
		require.False(t, guard.Hopeless(err), err.Error())
	}
}

// A driver starts only on a node that was read and that advertises nothing of a device plugin, whatever else is the case.
func TestNoCardIsGivenOutTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amounts := rapid.SliceOfN(rapid.Int64Range(0, 2), 1, 20).Draw(t, "amounts")
		allocatable, taken := corev1.ResourceList{}, false
		for i, n := range amounts {
			allocatable[corev1.ResourceName(fmt.Sprintf("acme.example/part-%d", i))] = amount(n)
			taken = taken || n > 0
		}
		in := guard.Input{Name: "gpu-1", Node: node(nil, allocatable), Rules: guard.Rules{PluginResources: []string{"acme.example/part-*"}}}
		require.Equal(t, taken, len(guard.Reasons(in)) > 0)
		in.Node = nil
		require.NotEmpty(t, guard.Reasons(in))
	})
}
