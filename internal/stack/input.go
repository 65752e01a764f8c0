// Package stack decides the status of the GPUStack: what is known of the cluster as a whole, what is in doubt, and what to
// do about it. It fetches and writes nothing.
package stack

import (
	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// Fact is something that has to be read from the cluster and may be unreadable.
type Fact string

// Facts, named as messages name them.
const (
	// FactKubernetesVersion is the API server's version.
	FactKubernetesVersion Fact = "the Kubernetes version"
	// FactResourceAPIs are the served versions of resource.k8s.io.
	FactResourceAPIs Fact = "the served versions of resource.k8s.io"
	// FactInstances are the control-plane pods.
	FactInstances Fact = "control-plane pods"
	// FactSlices are ResourceSlices: shared pools, unknown drivers, unmanaged groups.
	FactSlices Fact = "ResourceSlices"
	// FactManagers are the kinds and namespaces by which other managers show themselves cluster-wide.
	FactManagers Fact = "traces of other managers"
	// FactNodeGroups are Deckhouse NodeGroups.
	FactNodeGroups Fact = "NodeGroups"
	// FactDeviceClasses are DeviceClasses.
	FactDeviceClasses Fact = "DeviceClasses"
	// FactClaims are ResourceClaims: metrics, and who holds the devices of a node.
	FactClaims Fact = "ResourceClaims"
	// FactSettings is the settings file; the last good settings stay in force.
	FactSettings Fact = "the settings"
)

// GroupManager is a trace of another manager in a Deckhouse NodeGroup.
type GroupManager struct {
	// Group is the NodeGroup's name.
	Group string
	v1alpha1.Manager
}

// Input is what is known of the cluster. The order of its lists means nothing, and nil lists are empty.
type Input struct {
	// SettingsHash of the settings in force.
	SettingsHash string
	// Synced once the caches were filled and every GPUNode was written at least once.
	Synced bool
	// ControllerVersion of the running controller.
	ControllerVersion string
	// KubernetesVersion of the API server.
	KubernetesVersion string
	// ResourceAPIs are the served versions of resource.k8s.io (`v1`).
	ResourceAPIs []string
	// Instances are the components whose flags were looked for.
	Instances []featuregate.Instance
	// Nodes are all GPUNodes.
	Nodes []v1alpha1.GPUNode
	// SharedPools are pools with allNodes or nodeSelector.
	SharedPools []v1alpha1.SharedPool
	// ClusterManagers are traces seen cluster-wide: an object of a kind, a namespace.
	ClusterManagers []v1alpha1.Conflict
	// GroupManagers are traces in NodeGroups.
	GroupManagers []GroupManager
	// UnknownDrivers have slices, and no profile describes them.
	UnknownDrivers []string
	// ForeignDeviceClasses are classes of known profiles that somebody else created.
	ForeignDeviceClasses []string
	// Unmanaged are groups with slices that the settings do not list.
	Unmanaged []v1alpha1.UnmanagedGroup
	// InlineCounters are drivers with slices that hold counter sets beside devices, as up to Kubernetes 1.34; nil when nobody
	// looked.
	InlineCounters []string
	// Metrics are what API servers say in their /metrics.
	Metrics Metrics
	// Distribution of the cluster: who writes the flags of its components.
	Distribution profile.Distribution
	// Problems of the settings.
	Problems []settings.Problem
	// Unreadable holds, for each fact that could not be read, why. The last known value is kept.
	Unreadable map[Fact]string
	// Settings in force, nil before there were good ones.
	Settings *settings.Settings
	// Profiles of drivers.
	Profiles *profile.Set
}

// Metrics are what API servers say of their gates in their /metrics. The zero value: nobody looked.
type Metrics struct {
	// Answers, the newest last, at most featuregate.AnswersKept.
	Answers []featuregate.Answer
	// Unreadable says why the last one could not be read, empty when it was.
	Unreadable string
}

// doubt says why a fact can't be relied on, "" when it can.
func (in Input) doubt(f Fact) string {
	if reason, ok := in.Unreadable[f]; ok {
		return string(f) + " could not be read: " + reason
	}
	if !in.Synced {
		return "the controller is still reading the cluster"
	}
	return ""
}

// passive says whether the settings leave a group to another manager.
func (in Input) passive(group string) (listed, passive bool) {
	if in.Settings == nil {
		return false, false
	}
	for _, g := range in.Settings.NodeGroups {
		if g.Name == group {
			return true, g.Passive
		}
	}
	return false, false
}
