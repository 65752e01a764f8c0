package profile

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"
)

// Exporter is the exporter of the driver's metrics as the chart runs it, one DaemonSet a node group, and as the controller puts
// it into pods.
//
// Values of env, args, hostPath, path and texts of config may hold tokens: {listen} (`:port` in the DaemonSet, an address of its
// own in a sidecar), {port}, {interval}, {intervalMs} and {intervalSeconds} (the same time as `30s`, milliseconds, and seconds
// rounded up), {namespace}, {kubeletRoot}, {cdiRoot}, {driverRoot}, {driverRootParent}, {driverRootName}. Texts of config know the
// first five and {counters} (a line `name, type, help` a metric), {metrics} (the names as a JSON list, empty for all) and
// {profiling} (true or false).
type Exporter struct {
	// Image of the exporter.
	Image PluginImage `json:"image"`
	// MinVersion is the oldest version that works with DRA; empty: any. The version of an image is the last x.y.z in its tag.
	MinVersion string `json:"minVersion,omitempty"`
	// Port that serves the metrics.
	Port int32 `json:"port"`
	// MetricsPath of the metrics; empty: /metrics.
	MetricsPath string `json:"path,omitempty"`
	// Health is an HTTP path that answers while the exporter works; nil: there is none.
	Health *ExporterHealth `json:"health,omitempty"`
	// Command in place of the image's entry point. A sidecar needs it.
	Command []string `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	Env     []Env    `json:"env,omitempty"`
	// RunAsUser of the container; 0: root.
	RunAsUser int64 `json:"runAsUser,omitempty"`
	// Privileged says why the container has to be privileged; empty: it is not.
	Privileged string `json:"privileged,omitempty"`
	// Capabilities of a container that is not privileged; all others are dropped.
	Capabilities []ExporterCapability `json:"capabilities,omitempty"`
	// WritableRoot says why the root file system cannot be read-only; empty: it is read-only.
	WritableRoot string  `json:"writableRoot,omitempty"`
	Mounts       []Mount `json:"mounts,omitempty"`
	// WaitFor are files that have to be there before the exporter starts.
	WaitFor []Wait `json:"waitFor,omitempty"`
	// Tolerations of the exporter's pods besides those of the group.
	Tolerations []corev1.Toleration `json:"tolerations,omitempty"`
	// AdminClaim is how the exporter gets at devices that others use; nil: by its mounts or the container runtime alone.
	AdminClaim *AdminClaim `json:"adminClaim,omitempty"`
	// Rules of the exporter's ClusterRole. Without one that is on, its container has no token.
	Rules []Rule `json:"rules,omitempty"`
	// Config is a folder with files that the chart writes.
	Config *ExporterConfig `json:"config,omitempty"`
	// Metrics that the exporter is asked for.
	Metrics ExporterMetrics `json:"metrics,omitempty"`
	// Resources where the settings say nothing; the memory limit follows from Memory.
	Resources *ContainerResources `json:"resources,omitempty"`
	// Memory limit as a function of the devices of a node; nil: as Resources says.
	Memory *ExporterMemory `json:"memory,omitempty"`
	// MetricNames tell the recording rules what the metrics mean.
	MetricNames *MetricNames `json:"metricNames,omitempty"`
	// Sidecar is how the exporter runs inside a pod that uses devices; nil: it cannot.
	Sidecar *ExporterSidecar `json:"sidecar,omitempty"`
	// Unverified says what is not known for sure about this exporter: it is experimental. Empty: nothing.
	Unverified []string `json:"unverified,omitempty"`
}

// Path is MetricsPath or its default.
func (e *Exporter) Path() string {
	if e.MetricsPath == "" {
		return "/metrics"
	}
	return e.MetricsPath
}

// TooOld tells whether the version in a tag is older than MinVersion. A tag with none in it is taken for a new one.
func (e *Exporter) TooOld(tag string) bool {
	found := tagVersions.FindAllString(tag, -1)
	if len(found) == 0 || e.MinVersion == "" {
		return false
	}
	oldest, err := version.ParseGeneric(e.MinVersion)
	if err != nil {
		return false
	}
	got, err := version.ParseGeneric(found[len(found)-1])
	return err == nil && got.LessThan(oldest)
}

// ExporterHealth is an HTTP endpoint.
type ExporterHealth struct {
	Path string `json:"path"`
	// Port; 0: that of the metrics.
	Port int32 `json:"port,omitempty"`
}

// ExporterCapability is a Linux capability and why it is needed.
type ExporterCapability struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
	When   *When  `json:"when,omitempty"`
}

// AdminClaim is a claim of all devices of a node with admin access: it keeps nobody from using them. The namespace has to carry
// the label resource.kubernetes.io/admin-access=true.
type AdminClaim struct {
	// Class of the devices.
	Class string `json:"class"`
	// StaticClass in groups with the partitioning Static, whose cards may be published in parts only; empty: Class.
	StaticClass string `json:"staticClass,omitempty"`
	// Otherwise says how the exporter gets at the devices without the claim; empty: it cannot, and does not run.
	Otherwise string `json:"otherwise,omitempty"`
}

// ExporterConfig is a folder in the container with files by name.
type ExporterConfig struct {
	Path  string            `json:"path"`
	Files map[string]string `json:"files"`
}

// ExporterMetrics are the metrics by the exporter's own names.
type ExporterMetrics struct {
	// Default metrics, which every device has.
	Default []Counter `json:"default,omitempty"`
	// Profiling metrics, which `exporter.metrics: Profiling` adds.
	Profiling []Counter `json:"profiling,omitempty"`
	// Optional metrics are collected where exporter.customMetrics names them: here is what their type is.
	Optional []Counter `json:"optional,omitempty"`
	// Prefixes of names in exporter.customMetrics that are this exporter's; none: all are.
	Prefixes []string `json:"prefixes,omitempty"`
	// ProfilingPrefixes of names that are profiling metrics.
	ProfilingPrefixes []string `json:"profilingPrefixes,omitempty"`
}

// Counter is one metric.
type Counter struct {
	Name string `json:"name"`
	// Type: gauge, counter, histogram, summary or label.
	Type string `json:"type"`
	Help string `json:"help"`
}

// ExporterMemory limits memory: base + perDevice for each device of the node, both in whole Mi.
type ExporterMemory struct {
	Base      string `json:"base"`
	PerDevice string `json:"perDevice"`
	// GoPercent is the share of the limit that GOMEMLIMIT allows; 0: the exporter is not written in Go, or shares the container.
	GoPercent int32 `json:"goPercent,omitempty"`
}

// ExporterSidecar is what differs inside a pod of somebody else: no rights, no host, no other devices than the pod's. The rest
// (image, port, path, command) is the exporter's.
type ExporterSidecar struct {
	Args      []string            `json:"args,omitempty"`
	Env       []Env               `json:"env,omitempty"`
	Resources *ContainerResources `json:"resources,omitempty"`
}
