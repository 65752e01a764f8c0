// Package values is what hooks write under `gpuDra.internal` and templates read. openapi/values.yaml is the schema of the
// same; a test compares the two. Empty lists are left out: a nil slice would be `null`, which the schema refuses. Whoever fills these types sorts every list: a changed order is a new Helm revision.
package values

import corev1 "k8s.io/api/core/v1"

// Paths of the blocks, as hooks name them to addon-operator.
const (
	// PathCluster holds a Cluster.
	PathCluster = "gpuDra.internal.cluster"
	// PathNodeGroups holds a list of NodeGroup.
	PathNodeGroups = "gpuDra.internal.nodeGroups"
	// PathWebhookCertificate holds a Certificate.
	PathWebhookCertificate = "gpuDra.internal.webhookCertificate"
)

// Internal is `gpuDra.internal`.
type Internal struct {
	Cluster            Cluster     `json:"cluster"`
	NodeGroups         []NodeGroup `json:"nodeGroups,omitempty"`
	WebhookCertificate Certificate `json:"webhookCertificate"`
}

// Cluster is what hooks found out about the cluster.
type Cluster struct {
	// Observed is true once the hook has filled the block.
	Observed bool `json:"observed"`
	// Distribution: Deckhouse, Rosa, Vanilla, or empty when it could not be told.
	Distribution string `json:"distribution,omitempty"`
	// KubernetesVersion of the API server (`v1.34.4`).
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// FeatureGates over all components that read them: what is on in every one of them is on. No instances and no versions, which
	// change with every step of an upgrade.
	FeatureGates Gates `json:"featureGates"`
	// ExtendedResources by driver profile; no entry: not known, which templates take for off.
	ExtendedResources map[string]bool `json:"extendedResources,omitempty"`
	// ForeignDeviceClasses that somebody else created, sorted.
	ForeignDeviceClasses []string `json:"foreignDeviceClasses,omitempty"`
	// RefusedDrivers are names of customDrivers entries that are left out for a fault, sorted.
	RefusedDrivers []string `json:"refusedDrivers,omitempty"`
	// RefusedDeviceClasses are names of deviceClasses.extra entries that the API server would refuse, sorted.
	RefusedDeviceClasses []string `json:"refusedDeviceClasses,omitempty"`
	// MonitoringAPIs that are served.
	MonitoringAPIs MonitoringAPIs `json:"monitoringAPIs"`
}

// Gates are names of Kubernetes feature gates, each list sorted.
type Gates struct {
	// Needed by the settings.
	Needed []string `json:"needed,omitempty"`
	// On in every instance of every component that reads the gate.
	On []string `json:"on,omitempty"`
	// Off in one of them.
	Off []string `json:"off,omitempty"`
	// Unknown where nobody could tell.
	Unknown []string `json:"unknown,omitempty"`
}

// MonitoringAPIs says which monitoring objects the API server knows.
type MonitoringAPIs struct {
	PodMonitor       bool `json:"podMonitor"`
	PrometheusRule   bool `json:"prometheusRule"`
	GrafanaDashboard bool `json:"grafanaDashboard"`
}

// NodeGroup is what hooks found out about one entry of the setting `nodeGroups`.
type NodeGroup struct {
	Name string `json:"name"`
	// Found is true when there is a Deckhouse NodeGroup of that name.
	Found bool `json:"found"`
	// NodeSelector of the group's nodes.
	NodeSelector map[string]string `json:"nodeSelector,omitempty"`
	// Tolerations of the NodeGroup's taints, then those of the settings.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// KubeletRootDir of the group's kubelets.
	KubeletRootDir string `json:"kubeletRootDir,omitempty"`
	// DevicesPerNode is the largest high-water count of physical cards on one node.
	DevicesPerNode int32 `json:"devicesPerNode,omitempty"`
	// ManyDevices: a node of the group has more devices of a driver than one claim may hold. Left out when false.
	ManyDevices bool `json:"manyDevices,omitempty"`
	// CDIOff: a node of the group has a container runtime with CDI off by default (containerd 1.7). Left out when false.
	CDIOff bool `json:"cdiOff,omitempty"`
}

// Certificate is PEM text, in the shape of module-sdk's TLS hook.
type Certificate struct {
	CA   string `json:"ca,omitempty"`
	Cert string `json:"crt,omitempty"`
	Key  string `json:"key,omitempty"`
}
