//go:build bench

package bench

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// arm is one of the configurations that take turns.
type arm struct {
	*hookBench
	what string
	// says is what its patches must have, so that the work was done; nothing of memory where that is off.
	says string
	turn func() (hook, sdk run, patches string)
	turns
}

// TestGatesAndMemory measures what feature gates and kubelet memory add to a run of the hook `nodegroups`: the same nodes, with
// memoryReservation Off and a GPUStack that knows of no gate, against Advise and Apply with the gates of a control plane of
// three. Every run writes all GPUNodeGroups.
func TestGatesAndMemory(t *testing.T) {
	r := up(t, "gates-memory")
	r.unwritten()
	programs := buildPrograms(t)
	for _, s := range sizes(t) {
		nodes := gpuNodes(t, s)
		arms := []*arm{
			newArm(t, r, programs, nodes, "without gates and memory", "Off", condition.GroupMemoryOff, false),
			newArm(t, r, programs, nodes, "with gates, memory advised", "Advise", condition.GroupMemoryAdvise, true),
			newArm(t, r, programs, nodes, "with gates, memory applied", "Apply", condition.GroupMemoryApplying, true),
		}
		for range rounds {
			for _, a := range arms {
				hook, sdk, patches := a.turn()
				require.Contains(t, patches, a.says)
				a.hook, a.sdk = append(a.hook, hook), append(a.sdk, sdk)
			}
		}
		for _, a := range arms {
			a.report(s.name, arms[0])
		}
	}
}

func newArm(t *testing.T, r *rig, p programs, nodes []v1alpha1.GPUNode, what, mode, reason string, gates bool) *arm {
	t.Helper()
	written := fmt.Sprintf("memoryReservation: {mode: '%s'}\n", mode) + moduleSettings("None")
	a := &arm{hookBench: newHookBench(t, r, p, written), what: what, says: reason}
	object := syncedStack(t, written)
	if gates {
		object.Status = gateFacts(t, written, object.Status.SettingsHash, nodes)
	}
	a.stack = object.Status
	if gates {
		a.clusterFacts(object)
	}
	a.write("context.json", bindingContext(t, a.filters, object, nodes))
	a.turn = a.runner()
	return a
}

// gateFacts is the status that the controller writes where a control plane of three sets the gates that Deckhouse does.
func gateFacts(t *testing.T, written, hash string, nodes []v1alpha1.GPUNode) v1alpha1.GPUStackStatus {
	t.Helper()
	parsed, err := settings.FromValues([]byte(written))
	require.NoError(t, err)
	profiles, distribution := knowledge(t)
	const flag = "--feature-gates=DRAPartitionableDevices=true,DRADeviceBindingConditions=true,DRAConsumableCapacity=true,DRAExtendedResource=true"
	in := stack.Input{SettingsHash: hash, Synced: true, KubernetesVersion: "v1.34.4", ResourceAPIs: []string{"v1"}, Nodes: nodes,
		Distribution: distribution, Settings: parsed, Profiles: profiles}
	for _, component := range []string{featuregate.APIServer, featuregate.ControllerManager, featuregate.Scheduler} {
		for i := range 3 {
			in.Instances = append(in.Instances, featuregate.NewInstance(component, fmt.Sprintf("%s-master-%d", component, i), "v1.34.4", []string{component, flag}))
		}
	}
	status := stack.Compute(v1alpha1.GPUStackStatus{}, in, time.Now())
	require.Len(t, status.FeatureGates.Instances, 9)
	require.NotEmpty(t, status.FeatureGates.Needed)
	return status
}

// clusterFacts puts into the values what the hook `cluster`, which runs first, makes of the GPUStack.
func (a *arm) clusterFacts(object *v1alpha1.GPUStack) {
	a.t.Helper()
	const hook, path = "cluster/cluster", "/gpuDra/internal/cluster"
	a.write("context.json", bindingContext(a.t, hookFilters(a.t, hook), object, nil))
	a.measure(a.t, a.env(), hooksPath, "hook", "run", hookNumber(a.t, hooksPath, hook))
	var operations []struct {
		Path  string
		Value map[string]any
	}
	a.read("values-patch.json", &operations)
	var values map[string]any
	a.read("values.json", &values)
	for _, o := range operations {
		if o.Path == path {
			require.Contains(a.t, o.Value["featureGates"], "needed")
			values["gpuDra"].(map[string]any)["internal"].(map[string]any)["cluster"] = o.Value
			data, err := json.Marshal(values)
			require.NoError(a.t, err)
			a.write("values.json", data)
			a.write("values-patch.json", nil)
			return
		}
	}
	require.Fail(a.t, "the hook wrote no "+path)
}

func (a *arm) read(name string, into any) {
	a.t.Helper()
	data, err := os.ReadFile(filepath.Join(a.dir, name))
	require.NoError(a.t, err)
	require.NoError(a.t, json.Unmarshal(data, into), "%s", data)
}

// report compares with the arm without: less the SDK's share of each, because the values are larger too.
func (a *arm) report(size string, without *arm) {
	wall := func(a *arm) time.Duration { return a.hook.shortest() - a.sdk.shortest() }
	cpu := func(a *arm) time.Duration { return a.hook.cpu() - a.sdk.cpu() }
	per := func(of func(*arm) time.Duration) string {
		if a == without {
			return ""
		}
		return ratio(float64(of(a)) / float64(of(without)))
	}
	results.add(sectionFacts, size+": handler "+a.what, millis(wall(a)), per(wall))
	results.add(sectionFacts, size+": the same by processor time", millis(cpu(a)), per(cpu))
	grown := ""
	if a != without {
		grown = ratio(float64(a.hook.rss()) / float64(without.hook.rss()))
	}
	results.add(sectionFacts, size+": peak RSS of the run", mib(a.hook.rss()), grown)
}
