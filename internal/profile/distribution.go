package profile

import corev1 "k8s.io/api/core/v1"

// Distribution is what differs between Kubernetes distributions, as data.
type Distribution struct {
	// Name as in the setting `distribution`.
	Name string `json:"name"`
	// NodeGroupLabel is the node label whose value is the name of the node group; empty where groups are selectors only.
	NodeGroupLabel string `json:"nodeGroupLabel,omitempty"`
	// TerminatingTaints are taint keys of nodes that are on their way out.
	TerminatingTaints []string `json:"terminatingTaints,omitempty"`
	// ControlPlanePods says how control-plane pods are found.
	ControlPlanePods ControlPlanePods `json:"controlPlanePods,omitempty"`
	// KubeletRootDir is the default root directory of kubelets.
	KubeletRootDir string `json:"kubeletRootDir,omitempty"`
	// CDIRoot is the folder in which drivers put CDI specifications: one of those that the container runtime reads.
	CDIRoot string `json:"cdiRoot,omitempty"`
	// KubeletMemory is what kubelets do with memory unless told otherwise.
	KubeletMemory KubeletMemory `json:"kubeletMemory,omitempty"`
	// FeatureGates say how Kubernetes feature gates are set.
	FeatureGates GateRules `json:"featureGates,omitempty"`
	// PriorityClass of node daemons.
	PriorityClass string `json:"priorityClass,omitempty"`
	// SystemTolerations let the controller run where the distribution puts its own components.
	SystemTolerations []corev1.Toleration `json:"systemTolerations,omitempty"`
	// Monitoring says how the distribution's monitoring finds what there is for it.
	Monitoring Monitoring `json:"monitoring,omitempty"`
	// Managers are other managers of accelerators that exist on this distribution only.
	Managers []ManagerTrace `json:"managers,omitempty"`
}

// ControlPlanePods says where control-plane pods run.
type ControlPlanePods struct {
	// Namespace of the static pods.
	Namespace string `json:"namespace,omitempty"`
	// Label whose value is the component's name.
	Label string `json:"label,omitempty"`
	// VersionAnnotation holds the component's Kubernetes version (`1.34`), where its image's tag does not tell it.
	VersionAnnotation string `json:"versionAnnotation,omitempty"`
}

// KubeletMemory is what kubelets of a distribution do with memory unless told otherwise. Package reservation reads it.
type KubeletMemory struct {
	// Reserved: None or Tiered; empty is None.
	Reserved string `json:"reserved,omitempty"`
	// EvictionHard is the hard threshold of memory.available, a quantity or a percentage; empty: no hard eviction. A percentage
	// is one that the platform turns into bytes itself, from whole MiB and half to even. The kubelet's own percentages, which it
	// takes of the capacity as a float32 and truncates (GetThresholdQuantity in pkg/kubelet/eviction/api/types.go), are not to
	// be had this way: 1 % differs by up to a hundredth of a MiB and 250 bytes a TiB.
	EvictionHard string `json:"evictionHard,omitempty"`
	// EvictionSoft is the soft threshold, as EvictionHard; empty: no soft eviction.
	EvictionSoft string `json:"evictionSoft,omitempty"`
	// CPU and EphemeralStorage are what the platform's own reservation holds besides memory. They must be written along with
	// a memory of our own, because a fixed reservation consists of the given fields only.
	CPU              string `json:"cpu,omitempty"`
	EphemeralStorage string `json:"ephemeralStorage,omitempty"`
}

// Monitoring is what a distribution's Prometheus and Grafana look for. Only the chart reads it.
type Monitoring struct {
	// MonitorLabels and RuleLabels are those by which Prometheus selects PodMonitors and PrometheusRules.
	MonitorLabels map[string]string `json:"monitorLabels,omitempty"`
	RuleLabels    map[string]string `json:"ruleLabels,omitempty"`
	// NamespaceLabels are those of namespaces whose PodMonitors and PrometheusRules are read.
	NamespaceLabels map[string]string `json:"namespaceLabels,omitempty"`
	// SeriesLabels are put on every series that is scraped or recorded.
	SeriesLabels map[string]string `json:"seriesLabels,omitempty"`
	// SeverityLevels are values of the label severity_level by severity (critical, warning, info); none: no such label.
	SeverityLevels map[string]string `json:"severityLevels,omitempty"`
	// AlertAnnotations stand on every alert.
	AlertAnnotations map[string]string `json:"alertAnnotations,omitempty"`
	// Dashboards are objects of this kind: ConfigMap or GrafanaDashboardDefinition.
	Dashboards string `json:"dashboards,omitempty"`
	// DashboardLabels are those by which Grafana finds them.
	DashboardLabels map[string]string `json:"dashboardLabels,omitempty"`
}
