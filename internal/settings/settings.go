// Package settings is what a user writes: ModuleConfig spec.settings on Deckhouse, the root of the Helm values elsewhere.
// openapi/config-values.yaml is the schema and holds the defaults; these types hold what Go code reads.
package settings

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Settings of gpu-dra with defaults filled in.
type Settings struct {
	Distribution           string                  `json:"distribution,omitempty"`
	NodeGroups             []NodeGroup             `json:"nodeGroups,omitempty"`
	Drivers                map[string]DriverConfig `json:"drivers,omitempty"`
	CustomDrivers          []profile.Driver        `json:"customDrivers,omitempty"`
	DeviceClasses          DeviceClasses           `json:"deviceClasses,omitempty"`
	ClaimTemplates         []ClaimTemplate         `json:"claimTemplates,omitempty"`
	MemoryReservation      MemoryReservation       `json:"memoryReservation,omitempty"`
	KubernetesFeatureGates KubernetesFeatureGates  `json:"kubernetesFeatureGates,omitempty"`
}

// NodeGroup is one entry of `nodeGroups`.
type NodeGroup struct {
	// Name; under hooks the Deckhouse NodeGroup's name.
	Name string `json:"name"`
	// NodeSelector selects the nodes where no hooks run; empty where the distribution labels nodes with their group.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// KubeletRootDir of the group's nodes, where no hooks run; empty: the distribution's.
	KubeletRootDir string `json:"kubeletRootDir,omitempty"`
	// Drivers are names of driver profiles.
	Drivers []string `json:"drivers"`
	// DriverOverrides by profile name, over Settings.Drivers.
	DriverOverrides map[string]DriverConfig `json:"driverOverrides,omitempty"`
	// Partitioning: None, Static or Dynamic.
	Partitioning string `json:"partitioning,omitempty"`
	// Passthrough of whole devices to virtual machines.
	Passthrough bool `json:"passthrough,omitempty"`
	// ExpectedDevices per node, physical cards; 0: not said.
	ExpectedDevices int32 `json:"expectedDevices,omitempty"`
	// Passive leaves the group to another manager.
	Passive bool `json:"passive,omitempty"`
}

// DriverConfig configures one driver.
type DriverConfig struct {
	// FeatureGates of the driver itself.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// DeviceClasses configures DeviceClasses.
type DeviceClasses struct {
	// Create: Auto, Always or Never.
	Create string `json:"create,omitempty"`
	// ExtendedResources: Auto, Always or Never.
	ExtendedResources string `json:"extendedResources,omitempty"`
}

// ClaimTemplate is one entry of `claimTemplates`: a GPUClaimTemplate in the settings.
type ClaimTemplate struct {
	Name                          string `json:"name"`
	v1alpha1.GPUClaimTemplateSpec `json:",inline"`
}

// MemoryReservation configures kubelet memory advice.
type MemoryReservation struct {
	// Mode: Off, Advise or Apply.
	Mode string `json:"mode,omitempty"`
}

// KubernetesFeatureGates are gates of Kubernetes itself.
type KubernetesFeatureGates struct {
	// ExtraRequired gates besides those that the settings need.
	ExtraRequired []string `json:"extraRequired,omitempty"`
}

// Selector returns the node selector of a group: its own, or the distribution's group label where it has none.
// ok is false when the group selects nothing.
func (g NodeGroup) Selector(d profile.Distribution) (selector metav1.LabelSelector, ok bool) {
	if len(g.NodeSelector) > 0 {
		return metav1.LabelSelector{MatchLabels: g.NodeSelector}, true
	}
	if d.NodeGroupLabel != "" {
		return metav1.LabelSelector{MatchLabels: map[string]string{d.NodeGroupLabel: g.Name}}, true
	}
	return metav1.LabelSelector{}, false
}
