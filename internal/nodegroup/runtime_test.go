package nodegroup_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
)

func runtime(status metav1.ConditionStatus, reason string) func(*v1alpha1.GPUNode) {
	return func(n *v1alpha1.GPUNode) {
		n.Status.Conditions = append(n.Status.Conditions, condition.New(condition.RuntimeReady, status, reason, ""))
	}
}

var (
	cdiOn      = runtime("True", condition.NodeCDISupported)
	cdiOff     = runtime("Unknown", condition.NodeCDIOffByDefault)
	cdiMissing = runtime("False", condition.NodeCDIUnsupported)
	cdiUnknown = runtime("Unknown", condition.NodeRuntimeUnknown)
)

func passive(n *v1alpha1.GPUNode)     { n.Status.Passive = true }
func terminating(n *v1alpha1.GPUNode) { n.Status.Terminating = true }

func TestRuntimeReady(t *testing.T) {
	for name, c := range map[string]struct {
		nodes          []v1alpha1.GPUNode
		status, reason string
		contains       string
	}{
		"no node":     {nil, "True", condition.GroupCDISupported, ""},
		"not told":    {[]v1alpha1.GPUNode{node("a", 8, true)}, "True", condition.GroupCDISupported, ""},
		"all on":      {[]v1alpha1.GPUNode{node("a", 8, true, cdiOn), node("b", 8, true, cdiOn)}, "True", condition.GroupCDISupported, ""},
		"one cannot":  {[]v1alpha1.GPUNode{node("a", 8, true, cdiOff), node("b", 8, true, cdiMissing), node("c", 8, true, cdiOn)}, "False", condition.GroupCDIUnsupported, "devices on b:"},
		"one is off":  {[]v1alpha1.GPUNode{node("a", 8, true, cdiUnknown), node("b", 8, true, cdiOff)}, "Unknown", condition.GroupCDIOffByDefault, "runtime of b has"},
		"one unknown": {[]v1alpha1.GPUNode{node("a", 8, true, cdiUnknown), node("b", 8, true, cdiOn)}, "Unknown", condition.GroupRuntimeUnknown, "runtime of a does"},
		"not expected": {[]v1alpha1.GPUNode{node("a", 8, true, cdiMissing, passive), node("b", 8, true, cdiMissing, terminating), node("c", 8, true, cdiOn)},
			"True", condition.GroupCDISupported, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := find(t, nodegroup.Compute(v1alpha1.GPUNodeGroupStatus{}, input(t, c.nodes...), now), condition.RuntimeReady)
			require.Equal(t, c.status+" "+c.reason, string(got.Status)+" "+got.Reason)
			require.Contains(t, got.Message, c.contains)
		})
	}
}

func TestManyDevices(t *testing.T) {
	publishes := func(devices int32) func(*v1alpha1.GPUNode) {
		return func(n *v1alpha1.GPUNode) { n.Status.Drivers[0].Devices.Published = devices }
	}
	in := input(t, node("a", 8, true, publishes(32)), node("b", 8, true, publishes(8)))
	require.False(t, nodegroup.ManyDevices(in, false, now))
	require.False(t, nodegroup.ManyDevices(in, true, now), "cut anew into fewer")
	in.Nodes[1].Status.Drivers[0].Devices.Published = 33
	require.True(t, nodegroup.ManyDevices(in, false, now))
	in.Nodes[1].Status.Drivers[0].Accelerator = false
	require.False(t, nodegroup.ManyDevices(in, false, now), "channels of ComputeDomains are no devices that an exporter claims")

	in = input(t, node("a", 8, true, publishes(8)), node("b", 8, false, publishes(0)))
	require.False(t, nodegroup.ManyDevices(in, false, now))
	require.True(t, nodegroup.ManyDevices(in, true, now), "it restarts")
	in = input(t, node("a", 8, true, publishes(8)), node("b", 8, false, publishes(0), passive))
	require.False(t, nodegroup.ManyDevices(in, true, now))
	in.Stack.Synced = false
	require.True(t, nodegroup.ManyDevices(in, true, now), "nobody knows")
}

func TestCDIOff(t *testing.T) {
	elsewhere := func(n *v1alpha1.GPUNode) { n.Status.Groups = []string{"other"} }
	for name, c := range map[string]struct {
		nodes []v1alpha1.GPUNode
		want  bool
	}{
		"no node":              {nil, false},
		"all on":               {[]v1alpha1.GPUNode{node("a", 8, true, cdiOn)}, false},
		"cannot at all":        {[]v1alpha1.GPUNode{node("a", 8, true, cdiMissing)}, false},
		"unknown":              {[]v1alpha1.GPUNode{node("a", 8, true, cdiUnknown)}, false},
		"one off":              {[]v1alpha1.GPUNode{node("a", 8, true, cdiOn), node("b", 0, false, cdiOff)}, true},
		"off on its way out":   {[]v1alpha1.GPUNode{node("a", 8, true, cdiOff, terminating)}, true},
		"off on a passive one": {[]v1alpha1.GPUNode{node("a", 8, true, cdiOff, passive)}, false},
		"off in another group": {[]v1alpha1.GPUNode{node("a", 8, true, cdiOff, elsewhere)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t, c.nodes...)
			for _, before := range []bool{false, true} {
				require.Equal(t, c.want, nodegroup.CDIOff(in, before, now), "certain, whatever it was before")
			}
			in.Stack.Synced = false
			require.Equal(t, c.want, nodegroup.CDIOff(in, false, now))
			require.True(t, nodegroup.CDIOff(in, true, now), "not taken back while nobody knows")
			in.Stack.Synced = true
			require.True(t, nodegroup.CDIOff(in, true, now.Add(v1alpha1.HeartbeatStaleAfter+time.Minute)), "nor while the controller is away")
		})
	}
}
