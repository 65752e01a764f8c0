//go:build bench

package bench

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/deckhouse/module-sdk/pkg/jq"
	"github.com/deckhouse/module-sdk/testing/framework"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/fleet"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
	"github.com/gpu-dra/gpu-dra/internal/inventory"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// hookNumber is the number by which addon-operator runs the hook.
func hookNumber(t *testing.T, program, name string) string {
	t.Helper()
	out, err := exec.Command(program, "hook", "list").Output()
	require.NoError(t, err)
	m := regexp.MustCompile(`(?m)^(\d+) - ` + name + `\b`).FindSubmatch(out)
	require.NotNil(t, m, "%s", out)
	return string(m[1])
}

// hookFilters are the jq filters of the hook's bindings by name, as the program tells addon-operator.
func hookFilters(t *testing.T, hook string) map[string]*jq.Query {
	t.Helper()
	out, err := exec.Command(hooksPath, "hook", "config").Output()
	require.NoError(t, err)
	var config struct {
		Hooks []struct {
			Metadata   struct{ Name string }
			Kubernetes []struct{ Name, JqFilter string }
		}
	}
	require.NoError(t, json.Unmarshal(out, &config))
	filters := map[string]*jq.Query{}
	for _, h := range config.Hooks {
		if h.Metadata.Name != hook {
			continue
		}
		for _, k := range h.Kubernetes {
			filters[k.Name], err = jq.NewQuery(k.JqFilter)
			require.NoError(t, err)
		}
	}
	require.NotEmpty(t, filters)
	return filters
}

// knowledge is what the product knows of drivers, and of Deckhouse.
func knowledge(t *testing.T) (*profile.Set, profile.Distribution) {
	t.Helper()
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	profiles, err := profile.NewSet(builtin...)
	require.NoError(t, err)
	distributions, err := profile.Distributions()
	require.NoError(t, err)
	return profiles, distributions["Deckhouse"]
}

// gpuNodes are the GPUNodes that the controller would write for a fleet.
func gpuNodes(t *testing.T, s size) []v1alpha1.GPUNode {
	t.Helper()
	m, err := fleet.Load(model)
	require.NoError(t, err)
	profiles, distribution := knowledge(t)
	digester := inventory.NewDigester(profiles)
	out := make([]v1alpha1.GPUNode, s.nodes)
	for i := range out {
		n := node(i)
		slices, err := m.Slices(n, s.layout())
		require.NoError(t, err)
		digests := make([]*inventory.Slice, len(slices))
		for j := range slices {
			digests[j] = digester.Digest(slices[j])
		}
		have := inventory.ForNode(n.Name, digests)
		in := gpunode.Input{
			Node: n, Groups: []settings.NodeGroup{{Name: groupName(i), Drivers: []string{"nvidia"}, Partitioning: s.partitioning()}}, Devices: have.Devices,
			Pods:         map[string]v1alpha1.DriverPod{"nvidia": {Name: driverPod(i).Name, Phase: corev1.PodRunning, Ready: true}},
			Distribution: distribution, Profiles: profiles,
		}
		for _, d := range have.Drivers {
			in.Drivers = append(in.Drivers, gpunode.Driver{
				Name: d.Name, Registered: d.Registered, Counts: d.Counts, PublishedTwice: d.PublishedTwice, Pools: d.Pools,
			})
		}
		out[i] = v1alpha1.GPUNode{
			TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "GPUNode"},
			ObjectMeta: metav1.ObjectMeta{Name: n.Name},
		}
		out[i].Status, _ = gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, time.Now())
	}
	return out
}

// bindingContext is the file that addon-operator writes for a run after GPUNodes changed: what the filters leave of every
// object, without the objects.
func bindingContext(t *testing.T, filters map[string]*jq.Query, stack *v1alpha1.GPUStack, nodes []v1alpha1.GPUNode) []byte {
	t.Helper()
	type result struct {
		FilterResult json.RawMessage `json:"filterResult"`
	}
	filtered := func(filter string, object any) result {
		r, err := filters[filter].FilterObject(context.Background(), object)
		require.NoError(t, err)
		return result{json.RawMessage(r.String())}
	}
	snapshots := map[string][]result{"stack": {}, "nodes": {}}
	if stack != nil {
		snapshots["stack"] = append(snapshots["stack"], filtered("stack", stack))
	}
	for i := range nodes {
		snapshots["nodes"] = append(snapshots["nodes"], filtered("nodes", &nodes[i]))
	}
	data, err := json.Marshal([]any{map[string]any{"binding": "nodes", "type": "Group", "groupName": "main", "snapshots": snapshots}})
	require.NoError(t, err)
	return data
}

// hookValues are the values of a run: the settings over the defaults of the module's schema.
func hookValues(t *testing.T, written string) []byte {
	t.Helper()
	schema, err := framework.LoadOpenAPISchema(filepath.Join(root, "openapi", "values.yaml"))
	require.NoError(t, err)
	var own map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(written), &own))
	data, err := json.Marshal(map[string]any{"global": map[string]any{}, "gpuDra": framework.MergeValues(framework.SchemaDefaults(schema), own)})
	require.NoError(t, err)
	return data
}
