package stack_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// some draws a list of distinct elements.
func some[T any](t *rapid.T, label string, from ...T) []T {
	var out []T
	for i, x := range from {
		if rapid.Bool().Draw(t, fmt.Sprintf("%s %d", label, i)) {
			out = append(out, x)
		}
	}
	return out
}

func drawInput(t *rapid.T, base stack.Input) stack.Input {
	in := base
	in.Synced = rapid.IntRange(0, 4).Draw(t, "synced") > 0
	in.ResourceAPIs = some(t, "api", "v1", "v1beta1", "v1beta2")
	in.Instances = some(t, "instance", slices.Concat(plane("v1.34.4", "--feature-gates=DRAPartitionableDevices=true"),
		[]featuregate.Instance{
			instance(featuregate.APIServer, "api-b", "v1.34.4", "--feature-gates=DRAPartitionableDevices=false,DRAPartitionableDevices=true"),
			instance(featuregate.APIServer, "api-c", "", "--feature-gates=DRAControlPlaneController=true"),
			instance(featuregate.Scheduler, "sched-b", "v1.36.0", "--feature-gates=GangScheduling=true,GenericWorkload=true"),
			instance(featuregate.Scheduler, "sched-c", "v1.34.4", "$(ARGS)"),
			instance(featuregate.ControllerManager, "kcm-b", "v1.34.4", "--feature-gates=DRAAdminAccess=false"),
		})...)
	in.Nodes = some(t, "node", node("a"), node("b", kubelet("v1.36.1")), node("c", unregistered, managed("m", "e: 1")), node("d", passive, managed("m", "e")),
		node("e", ofNoGroup), node("f", kubelet("fake"), managed("m", "e: 2")), node("g", terminating, managed("x", "y")))
	in.ClusterManagers = some(t, "manager", v1alpha1.Conflict{Manager: "m", Evidence: "z"}, v1alpha1.Conflict{Manager: "m", Evidence: "a"}, v1alpha1.Conflict{Manager: "a", Evidence: "z"})
	in.GroupManagers = some(t, "group manager", stack.GroupManager{Group: "gpu-a100", Manager: v1alpha1.Manager{Name: "m", Evidence: "spec.gpu"}},
		stack.GroupManager{Group: "gpu-mig", Manager: v1alpha1.Manager{Name: "m", Evidence: "spec.gpu"}})
	in.SharedPools = some(t, "pool", v1alpha1.SharedPool{PoolState: v1alpha1.PoolState{Driver: "b", Name: "a"}}, v1alpha1.SharedPool{PoolState: v1alpha1.PoolState{Driver: "a", Name: "b"}},
		v1alpha1.SharedPool{PoolState: v1alpha1.PoolState{Driver: "a", Name: "a"}})
	in.Unmanaged = some(t, "unmanaged", v1alpha1.UnmanagedGroup{Name: "z", Drivers: []string{"b", "a"}}, v1alpha1.UnmanagedGroup{Name: "a"})
	in.UnknownDrivers = some(t, "unknown", "z", "a", "m")
	in.ForeignDeviceClasses = some(t, "class", "z", "a")
	in.Problems = some(t, "problem", settings.Problem{Path: "z", Message: "m"}, settings.Problem{Path: "a", Message: "m"})
	in.Unreadable = map[stack.Fact]string{}
	for _, f := range some(t, "unreadable", stack.FactInstances, stack.FactSlices, stack.FactManagers, stack.FactNodeGroups, stack.FactDeviceClasses, stack.FactSettings, stack.FactResourceAPIs) {
		in.Unreadable[f] = "forbidden"
	}
	in.Settings = &settings.Settings{NodeGroups: some(t, "group", settings.NodeGroup{Name: "gpu-mig", Drivers: []string{"nvidia", "example"}, Partitioning: "Dynamic"},
		settings.NodeGroup{Name: "gpu-a100", Drivers: []string{"nvidia"}})}
	if rapid.IntRange(0, 4).Draw(t, "settings") == 0 {
		in.Settings = nil
	}
	return in
}

// permuted reorders every list.
func permuted(t *rapid.T, in stack.Input) stack.Input {
	in.ResourceAPIs = shuffled(t, in.ResourceAPIs)
	in.Instances = shuffled(t, in.Instances)
	in.Nodes = shuffled(t, in.Nodes)
	in.ClusterManagers = shuffled(t, in.ClusterManagers)
	in.GroupManagers = shuffled(t, in.GroupManagers)
	in.SharedPools = shuffled(t, in.SharedPools)
	in.Unmanaged = shuffled(t, in.Unmanaged)
	in.UnknownDrivers = shuffled(t, in.UnknownDrivers)
	in.ForeignDeviceClasses = shuffled(t, in.ForeignDeviceClasses)
	in.Problems = shuffled(t, in.Problems)
	if in.Settings != nil {
		in.Settings = &settings.Settings{NodeGroups: shuffled(t, in.Settings.NodeGroups)}
	}
	return in
}

func shuffled[T any](t *rapid.T, list []T) []T {
	if len(list) < 2 {
		return list
	}
	return rapid.Permutation(list).Draw(t, "order")
}

func throughAPI(t *rapid.T, s v1alpha1.GPUStackStatus) v1alpha1.GPUStackStatus {
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out v1alpha1.GPUStackStatus
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// From any earlier status: the order of the facts means nothing, computing again changes nothing, and a status that went
// through the API is the same as one that did not.
func TestComputeIsIdempotentAndOrderInsensitive(t *testing.T) {
	base := healthy(t)
	rapid.Check(t, func(t *rapid.T) {
		prev := v1alpha1.GPUStackStatus{}
		if rapid.Bool().Draw(t, "known before") {
			prev = stack.Compute(prev, drawInput(t, base), start)
		}
		in := drawInput(t, base)
		got := stack.Compute(prev, in, start.Add(time.Minute))
		if diff := cmp.Diff(got, stack.Compute(prev, permuted(t, in), start.Add(time.Minute))); diff != "" {
			t.Fatalf("another order: %s", diff)
		}
		if diff := cmp.Diff(got, stack.Compute(got, permuted(t, in), start.Add(time.Minute+29*time.Second))); diff != "" {
			t.Fatalf("again: %s", diff)
		}
		if diff := cmp.Diff(got, throughAPI(t, got)); diff != "" {
			t.Fatalf("through the API: %s", diff)
		}
	})
}
