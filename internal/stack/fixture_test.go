package stack_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func instance(component, name, version string, flags ...string) featuregate.Instance {
	return featuregate.NewInstance(component, name, version, append([]string{component}, flags...))
}

// plane is a control plane of one instance a component.
func plane(version string, flags ...string) []featuregate.Instance {
	return []featuregate.Instance{
		instance(featuregate.APIServer, "api-a", version, flags...),
		instance(featuregate.ControllerManager, "kcm-a", version, flags...),
		instance(featuregate.Scheduler, "sched-a", version, flags...),
	}
}

type nodeOption func(*v1alpha1.GPUNodeStatus)

func node(name string, options ...nodeOption) v1alpha1.GPUNode {
	s := v1alpha1.GPUNodeStatus{
		Groups:  []string{"gpu-a100"},
		Runtime: &v1alpha1.NodeRuntime{KubeletVersion: "v1.34.4"},
		Drivers: []v1alpha1.NodeDriver{
			{Name: "compute-domain.nvidia.com", Profile: "nvidia", Devices: v1alpha1.DeviceCounts{Physical: 1}},
			{Name: "gpu.nvidia.com", Profile: "nvidia", Accelerator: true, Devices: v1alpha1.DeviceCounts{Physical: 8}},
		},
		Conditions: []metav1.Condition{condition.New(condition.Registered, metav1.ConditionTrue, condition.NodeRegistered, "")},
	}
	for _, o := range options {
		o(&s)
	}
	return v1alpha1.GPUNode{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: s}
}

func kubelet(version string) nodeOption {
	return func(s *v1alpha1.GPUNodeStatus) { s.Runtime.KubeletVersion = version }
}
func passive(s *v1alpha1.GPUNodeStatus)      { s.Passive = true }
func terminating(s *v1alpha1.GPUNodeStatus)  { s.Terminating = true }
func unregistered(s *v1alpha1.GPUNodeStatus) { s.Conditions[0].Status = metav1.ConditionFalse }
func ofNoGroup(s *v1alpha1.GPUNodeStatus)    { s.Groups = nil }
func managed(name, evidence string) nodeOption {
	return func(s *v1alpha1.GPUNodeStatus) {
		s.Managers = append(s.Managers, v1alpha1.Manager{Name: name, Evidence: evidence})
	}
}

// healthy is a cluster with nothing wrong.
func healthy(t testing.TB) stack.Input {
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	profiles, err := profile.NewSet(builtin...)
	require.NoError(t, err)
	return stack.Input{
		SettingsHash: "abc", Synced: true, ControllerVersion: "v0.1.0", KubernetesVersion: "v1.34.4", ResourceAPIs: []string{"v1"},
		Instances: plane("v1.34.4"),
		Nodes:     []v1alpha1.GPUNode{node("n1"), node("n2")},
		Settings:  &settings.Settings{NodeGroups: []settings.NodeGroup{{Name: "gpu-a100", Drivers: []string{"nvidia"}}}},
		Profiles:  profiles,
	}
}

func get(t testing.TB, s v1alpha1.GPUStackStatus, conditionType string) metav1.Condition {
	t.Helper()
	c := condition.Find(s.Conditions, conditionType)
	require.NotNil(t, c, conditionType)
	return *c
}

func gateOf(t testing.TB, s v1alpha1.GPUStackStatus, name string) v1alpha1.NeededGate {
	t.Helper()
	for _, g := range s.FeatureGates.Needed {
		if g.Name == name {
			return g
		}
	}
	require.Fail(t, "no gate "+name)
	return v1alpha1.NeededGate{}
}
