package profile

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Plugin is the driver's kubelet plugin as the chart runs it: one DaemonSet a node group.
//
// Values of env, args, hostPath and path may hold tokens, which the chart fills in: {kubeletRoot}, {cdiRoot}, {driverRoot},
// {driverRootParent} and {driverRootName} (the folder it is in and its last element), {featureGates} (`A=true,B=false`,
// sorted), {logLevel}, {image}, {pullSecrets}, {namespace}. An entry of env or args whose token has no value is left out.
type Plugin struct {
	// Image of every container of the plugin.
	Image PluginImage `json:"image"`
	// KubeletRoot is the only root directory of a kubelet that the plugin works with; empty: any.
	KubeletRoot string `json:"kubeletRoot,omitempty"`
	// LogLevels are those that the plugin starts with; nil: whatever the settings allow.
	LogLevels *LogLevels `json:"logLevels,omitempty"`
	// PerPodSockets: the sockets carry the pod's uid, so a new pod may start beside the one it replaces (maxSurge 1).
	PerPodSockets bool `json:"perPodSockets,omitempty"`
	// Tolerations of the plugin's pods besides those of the group.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// WaitFor are files that have to be there before the plugin starts.
	WaitFor []Wait `json:"waitFor,omitempty"`
	// Containers of the pod.
	Containers []Container `json:"containers"`
	// Rules of the plugin's ClusterRole.
	Rules []Rule `json:"rules,omitempty"`
	// NamespaceRules of the plugin's Role in the namespace of gpu-dra.
	NamespaceRules []Rule `json:"namespaceRules,omitempty"`
	// Unverified says what is not known for sure about this plugin: it is experimental. Empty: nothing.
	Unverified []string `json:"unverified,omitempty"`
}

// LogLevels is a range of levels of a log, both ends among them.
type LogLevels struct {
	Min int32 `json:"min"`
	Max int32 `json:"max"`
}

// MaxLogLevel is the highest level that the settings take.
const MaxLogLevel = 10

// TakesLogLevel says whether a container of the plugin is told the level of its log.
func (p *Plugin) TakesLogLevel() bool { return p.holds("{logLevel}") }

// TakesGate says whether a feature gate of the driver does something: the plugin is told all that are set, or a part of it is there with
// this one only.
func (p *Plugin) TakesGate(name string) bool {
	taken := p.holds("{featureGates}")
	p.eachWhen(func(_ string, w *When) { taken = taken || w.Gate == name })
	return taken
}

// holds says whether a token is in env or args of a container.
func (p *Plugin) holds(token string) bool {
	for _, c := range p.Containers {
		if slices.ContainsFunc(c.Args, func(a string) bool { return strings.Contains(a, token) }) ||
			slices.ContainsFunc(c.Env, func(e Env) bool { return strings.Contains(e.Value, token) }) {
			return true
		}
	}
	return false
}

// PluginImage is the image that the vendor publishes.
type PluginImage struct {
	// Repository with its registry host.
	Repository string `json:"repository"`
	// Tag; a `v` before a version is no part of it.
	Tag string `json:"tag"`
}

// Wait is a condition on the host: one of the paths exists.
type Wait struct {
	// What is awaited, in a few words, for the log.
	What string `json:"what"`
	// HostPath is the folder of the host that is looked into.
	HostPath string `json:"hostPath"`
	// AnyOf are paths below it, of which one has to exist.
	AnyOf []string `json:"anyOf"`
}

// When restricts a part of a plugin or an exporter. Every field that is set has to hold.
type When struct {
	// Gate of the driver that has to be on.
	Gate string `json:"gate,omitempty"`
	// ComputeDomains: the setting has to be on.
	ComputeDomains bool `json:"computeDomains,omitempty"`
	// Since is the first version of the driver that has it.
	Since string `json:"since,omitempty"`
	// KubernetesSince is the first minor version of Kubernetes (`1.36`).
	KubernetesSince string `json:"kubernetesSince,omitempty"`
	// Profiling: the settings ask the exporter for profiling metrics. In an exporter only.
	Profiling bool `json:"profiling,omitempty"`
	// AdminClaim: the exporter has its claim with admin access. In an exporter only.
	AdminClaim bool `json:"adminClaim,omitempty"`
}

// Container of a kubelet plugin.
type Container struct {
	Name string   `json:"name"`
	When *When    `json:"when,omitempty"`
	Args []string `json:"args,omitempty"`
	// Command in place of the image's entry point.
	Command []string `json:"command,omitempty"`
	Env     []Env    `json:"env,omitempty"`
	// Privileged says why the container has to be privileged; empty: it is not.
	Privileged string `json:"privileged,omitempty"`
	// Capabilities that a container needs which is not privileged; all others are dropped.
	Capabilities []string `json:"capabilities,omitempty"`
	// WritableRoot says why the root file system cannot be read-only; empty: it is read-only.
	WritableRoot string `json:"writableRoot,omitempty"`
	// HealthPort of the gRPC health service `liveness`; 0: none.
	HealthPort int32 `json:"healthPort,omitempty"`
	// MetricsPort of /metrics; 0: none.
	MetricsPort int32   `json:"metricsPort,omitempty"`
	Mounts      []Mount `json:"mounts,omitempty"`
	// Resources where the settings say nothing.
	Resources *ContainerResources `json:"resources,omitempty"`
}

// ContainerResources are requests and limits by resource name.
type ContainerResources struct {
	Requests corev1.ResourceList `json:"requests,omitempty"`
	Limits   corev1.ResourceList `json:"limits,omitempty"`
}

// Env is an environment variable: a value, or a field of the pod.
type Env struct {
	Name  string `json:"name"`
	Value string `json:"value,omitempty"`
	// Field is a path of the downward API (`spec.nodeName`).
	Field string `json:"field,omitempty"`
	When  *When  `json:"when,omitempty"`
}

// Mount of a folder or file of the host. Mounts of one name are one volume of the pod.
type Mount struct {
	Name     string `json:"name"`
	HostPath string `json:"hostPath"`
	// Type as in a hostPath volume; empty: nothing is checked.
	Type corev1.HostPathType `json:"type,omitempty"`
	// Path in the container; empty: as on the host.
	Path        string                      `json:"path,omitempty"`
	ReadOnly    bool                        `json:"readOnly,omitempty"`
	Propagation corev1.MountPropagationMode `json:"propagation,omitempty"`
	When        *When                       `json:"when,omitempty"`
}

// Rule of RBAC. No wildcard is accepted.
type Rule struct {
	APIGroups     []string `json:"apiGroups"`
	Resources     []string `json:"resources"`
	ResourceNames []string `json:"resourceNames,omitempty"`
	Verbs         []string `json:"verbs"`
	When          *When    `json:"when,omitempty"`
}
