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
	// ResourceAPIs are the served versions of resource.k8s.io, sorted.
	ResourceAPIs []string `json:"resourceAPIs,omitempty"`
	// FeatureGates, one entry an instance, sorted by component and instance.
	FeatureGates []Instance `json:"featureGates,omitempty"`
	// Gates over all components that read them.
	Gates Gates `json:"gates"`
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
	// SettingsHash of the settings that the controller has seen.
	SettingsHash string `json:"settingsHash,omitempty"`
}

// Instance is one component whose gates were read.
type Instance struct {
	// Component: kube-apiserver, kube-controller-manager, kube-scheduler or kubelet.
	Component string `json:"component"`
	// Instance is the pod's name; for kubelets the version, so that the list does not grow with the nodes.
	Instance string `json:"instance"`
	// Version, empty when it could not be read.
	Version string `json:"version,omitempty"`
	// Unreadable says why the flags could not be read, empty when they were.
	Unreadable string `json:"unreadable,omitempty"`
	// Set holds the DRA-related gates that the flags set.
	Set map[string]bool `json:"set,omitempty"`
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
	// Drivers are the known driver profiles of the group, sorted.
	Drivers []string `json:"drivers,omitempty"`
	// Passive by the settings.
	Passive bool `json:"passive"`
	// DevicesPerNode is the largest high-water count of physical cards on one node.
	DevicesPerNode int32 `json:"devicesPerNode,omitempty"`
	// Memory of the group's nodes; nil before a node was seen.
	Memory *Memory `json:"memory,omitempty"`
	// Reservation of kubelet memory; nil when there is no advice.
	Reservation *Reservation `json:"reservation,omitempty"`
	// CDIOff: a node of the group has a container runtime with CDI off by default (containerd 1.7). Left out when false.
	CDIOff bool `json:"cdiOff,omitempty"`
	// ManagedElsewhere names other managers of the group's accelerators, sorted.
	ManagedElsewhere []string `json:"managedElsewhere,omitempty"`
	// Exporter facts; nil before the exporter is there.
	Exporter *Exporter `json:"exporter,omitempty"`
}

// Memory of a group's nodes, as canonical quantities.
type Memory struct {
	// Total of the node that decides the reservation.
	Total    string `json:"total,omitempty"`
	Smallest string `json:"smallest,omitempty"`
	Largest  string `json:"largest,omitempty"`
}

// Reservation is what the kubelets of a group are to reserve.
type Reservation struct {
	// Mode: Off, Advise or Apply.
	Mode string `json:"mode,omitempty"`
	// Recommended memory as a canonical quantity.
	Recommended string `json:"recommended,omitempty"`
}

// Exporter holds the facts that the exporter of a group needs.
type Exporter struct {
	// Mode: DaemonSet, Sidecar or Off.
	Mode string `json:"mode,omitempty"`
	// MemoryLimit for DevicesPerNode devices, as a canonical quantity.
	MemoryLimit string `json:"memoryLimit,omitempty"`
}

// Certificate is PEM text, in the shape of module-sdk's TLS hook.
type Certificate struct {
	CA   string `json:"ca,omitempty"`
	Cert string `json:"crt,omitempty"`
	Key  string `json:"key,omitempty"`
}
