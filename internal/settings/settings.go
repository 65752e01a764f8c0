// Package settings is what a user writes: ModuleConfig spec.settings on Deckhouse, the root of the Helm values elsewhere.
// openapi/config-values.yaml is the schema and holds the defaults; these types mirror it key by key (a test compares them),
// so that the hash of a Settings is the hash of all that the user wrote.
package settings

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Settings of gpu-dra with defaults filled in.
type Settings struct {
	// Distribution: Auto, Deckhouse, Rosa or Vanilla.
	Distribution string `json:"distribution,omitempty"`
	// ImageRegistry replaces the registry host of every image.
	ImageRegistry string `json:"imageRegistry,omitempty"`
	// ImagePullSecrets of every pod.
	ImagePullSecrets       []corev1.LocalObjectReference `json:"imagePullSecrets,omitempty"`
	NodeGroups             []NodeGroup                   `json:"nodeGroups,omitempty"`
	Drivers                map[string]DriverConfig       `json:"drivers,omitempty"`
	CustomDrivers          []profile.Driver              `json:"customDrivers,omitempty"`
	Cluster                Cluster                       `json:"cluster,omitempty"`
	DeviceClasses          DeviceClasses                 `json:"deviceClasses,omitempty"`
	ClaimTemplates         []ClaimTemplate               `json:"claimTemplates,omitempty"`
	MemoryReservation      MemoryReservation             `json:"memoryReservation,omitempty"`
	KubernetesFeatureGates KubernetesFeatureGates        `json:"kubernetesFeatureGates,omitempty"`
	Exporter               Exporter                      `json:"exporter,omitempty"`
	Monitoring             Monitoring                    `json:"monitoring,omitempty"`
	Controller             Controller                    `json:"controller,omitempty"`
}

// NodeGroup is one entry of `nodeGroups`.
type NodeGroup struct {
	// Name; under hooks the Deckhouse NodeGroup's name.
	Name string `json:"name"`
	// NodeSelector selects the nodes where no hooks run; empty where the distribution labels nodes with their group.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// KubeletRootDir of the group's nodes, where no hooks run; empty: the distribution's.
	KubeletRootDir string `json:"kubeletRootDir,omitempty"`
	// Tolerations of the group's pods, besides those that hooks find.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
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
	// MemoryReservation holds what differs from Settings.MemoryReservation; zero fields do not.
	MemoryReservation MemoryReservation `json:"memoryReservation,omitempty"`
}

// DriverConfig configures one driver.
type DriverConfig struct {
	Image *Image `json:"image,omitempty"`
	// DriverRoot is where the vendor's libraries are on the host; empty: `/`.
	DriverRoot string `json:"driverRoot,omitempty"`
	// ComputeDomains switches on the part of the driver that joins nodes over a fabric; nil: off.
	ComputeDomains *bool `json:"computeDomains,omitempty"`
	// FeatureGates of the driver itself.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
	// LogLevel from 0 to 10; nil: the driver's own default.
	LogLevel  *int32     `json:"logLevel,omitempty"`
	Resources *Resources `json:"resources,omitempty"`
	ExtraEnv  []EnvVar   `json:"extraEnv,omitempty"`
	// Exporter of the driver's metrics; nil: as the profile says.
	Exporter *DriverExporter `json:"exporter,omitempty"`
}

// DriverExporter configures the exporter of one driver's metrics.
type DriverExporter struct {
	Image     *Image     `json:"image,omitempty"`
	Resources *Resources `json:"resources,omitempty"`
	ExtraEnv  []EnvVar   `json:"extraEnv,omitempty"`
	// RuntimeClassName of its pods; empty: the default runtime.
	RuntimeClassName string `json:"runtimeClassName,omitempty"`
}

// Image of a container in place of the chosen one; empty fields keep what was chosen.
type Image struct {
	Repository string `json:"repository,omitempty"`
	Tag        string `json:"tag,omitempty"`
	Digest     string `json:"digest,omitempty"`
}

// Resources of a container.
type Resources struct {
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Limits   corev1.ResourceList `json:"limits,omitempty"`
}

// EnvVar is one environment variable.
type EnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
}

// Cluster is what the user says of the cluster, where no hooks run.
type Cluster struct {
	// KubernetesVersion of the API server, empty: not said.
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// FeatureGates that are on or off in every component that reads them.
	FeatureGates map[string]bool `json:"featureGates,omitempty"`
}

// ClaimTemplate is one entry of `claimTemplates`: a GPUClaimTemplate in the settings.
type ClaimTemplate struct {
	Name                          string `json:"name"`
	v1alpha1.GPUClaimTemplateSpec `json:",inline"`
}

// MemoryReservation configures kubelet memory advice. In a NodeGroup, zero fields are not overridden.
type MemoryReservation struct {
	// Mode: Off, Advise or Apply.
	Mode string `json:"mode,omitempty"`
	// SystemNeed is what the node's own daemons may use before soft eviction starts.
	SystemNeed *resource.Quantity `json:"systemNeed,omitempty"`
	// Base is the fixed part of what accelerators cost the node's daemons.
	Base *resource.Quantity `json:"base,omitempty"`
	// PerDevice is the part for each physical card.
	PerDevice *resource.Quantity `json:"perDevice,omitempty"`
	// Overhead is a factor over Base and PerDevice together, at least 1.
	Overhead float64 `json:"overhead,omitempty"`
	// MinDevices below which the platform's own reservation stands.
	MinDevices int32 `json:"minDevices,omitempty"`
}

// KubernetesFeatureGates are gates of Kubernetes itself.
type KubernetesFeatureGates struct {
	// ExtraRequired gates besides those that the settings need.
	ExtraRequired []string `json:"extraRequired,omitempty"`
}

// Exporter of accelerator metrics.
type Exporter struct {
	// Mode: DaemonSet, Sidecar or Off.
	Mode    string  `json:"mode,omitempty"`
	Sidecar Sidecar `json:"sidecar,omitempty"`
	// Metrics: Default, Profiling or Custom.
	Metrics string `json:"metrics,omitempty"`
	// CustomMetrics for Metrics Custom.
	CustomMetrics []string `json:"customMetrics,omitempty"`
	// Interval of collection and scraping.
	Interval *metav1.Duration `json:"interval,omitempty"`
	// AdminAccess: Auto, Always or Never.
	AdminAccess string `json:"adminAccess,omitempty"`
}

// Sidecar configures the exporter in mode Sidecar.
type Sidecar struct {
	Namespaces []string         `json:"namespaces,omitempty"`
	Interval   *metav1.Duration `json:"interval,omitempty"`
}

// Monitoring says which monitoring objects are created: Auto, Always or Never.
type Monitoring struct {
	// Labels of the objects besides those of the distribution.
	Labels     map[string]string `json:"labels,omitempty"`
	PodMonitor string            `json:"podMonitor,omitempty"`
	Rules      string            `json:"rules,omitempty"`
	Dashboards string            `json:"dashboards,omitempty"`
}

// Controller configures the controller's Deployment and webhook.
type Controller struct {
	Replicas  int32      `json:"replicas,omitempty"`
	Image     *Image     `json:"image,omitempty"`
	Resources *Resources `json:"resources,omitempty"`
	Webhook   Webhook    `json:"webhook,omitempty"`
}

// Webhook of the controller.
type Webhook struct {
	// FailurePolicy: Ignore or Fail.
	FailurePolicy string `json:"failurePolicy,omitempty"`
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
