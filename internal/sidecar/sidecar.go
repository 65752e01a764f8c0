// Package sidecar decides which pods carry the exporter as a native sidecar, and what that looks like.
//
// A person asks for it by a label on the pod. The sidecar must never harm what the pod is for: it has no probe that could hold
// the engine back or take it out of a Service, no right on the node or in the cluster, and leaves the pod's QoS class as it
// was. A pod that cannot have it on these terms goes without, and is told why.
package sidecar

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// Names within a pod.
const (
	// Container is the init container that is the sidecar.
	Container = "gpu-dra-exporter"
	// Installer is the init container before it, which brings our binary into the pod.
	Installer = "gpu-dra-exporter-install"
	// Volume holds the binary, the exporter's temporary files, and nothing where a token would be.
	Volume = "gpu-dra-exporter"
	// PortName of the metrics port, for the PodMonitor.
	PortName = "gpu-metrics"
)

// Config is what the settings and profiles say.
type Config struct {
	// Namespaces in which pods may carry the sidecar.
	Namespaces []string
	// Image of gpu-dra, for the installer.
	Image string
	// PullSecrets that the images need; empty: none.
	PullSecrets []string
	// Interval of scraping. The sidecar waits for the last sample two of them.
	Interval time.Duration
	// Drivers by name of the profile.
	Drivers map[string]Driver
	// Classes are names of profiles by the name of the DeviceClass.
	Classes map[string]string
	// Unshown are DeviceClasses of devices that no exporter on the node sees: they go to virtual machines.
	Unshown map[string]bool
}

// Driver is what is known of one driver.
type Driver struct {
	// Name in `status.allocation` of a claim.
	Name string
	// Others are drivers of the same product whose devices are no accelerators: no exporter shows them.
	Others []string
	// Exporter; nil: none that works as a sidecar.
	Exporter *Exporter
	// Without says why there is no exporter, in words that follow the driver's name.
	Without string
}

// Exporter is how a driver's exporter runs as a sidecar.
type Exporter struct {
	// Image with registry and tag or digest.
	Image string
	// Command and Args; the command is needed, because the image's own entry point gives way to ours. Tokens in Args, Files and
	// values of Env are filled in when the exporter starts: {listen} is the address and port to listen on, {port} the port,
	// {config} the folder with the files.
	Command, Args []string
	Env           []corev1.EnvVar
	// Files of the exporter's own by name.
	Files map[string]string
	// Collect is the interval in which it collects.
	Collect time.Duration
	// Port of the metrics as the scraper sees it, and their path.
	Port int32
	Path string
	// Limits of cpu and memory, which are the requests too.
	Limits corev1.ResourceList
	// Memory makes the limit of memory out of the devices of the pod; nil: Limits has it.
	Memory *Memory
	// GoPercent is the share of the memory limit that the Go runtime may use; 0: the exporter is not written in Go.
	GoPercent int32
}

// Memory is a limit as a function of devices, in bytes.
type Memory struct{ Base, PerDevice int64 }

// Claim is what is known of one claim of a pod.
type Claim struct {
	// Name of the ResourceClaim or ResourceClaimTemplate.
	Name string
	// Classes are the DeviceClasses of its requests.
	Classes []string
	// Drivers that devices were allocated from already.
	Drivers []string
	// Devices are how many it has, or asks for at most; 0: nobody can tell.
	Devices int64
	// Problem says why the claim could not be read; empty: it was.
	Problem string
}

// Input of a decision.
type Input struct {
	// Namespace of the request: the pod's own may be empty.
	Namespace string
	// Pod is not changed.
	Pod *corev1.Pod
	// Claims by the pod's own names for them.
	Claims map[string]Claim
	// Secrets of Config.PullSecrets by name; one that is missing here is missing in the namespace.
	Secrets map[string]Secret
}

// Secret is what is known of a Secret for pulling images.
type Secret struct {
	// Problem says why it could not be found out whether the Secret is there; empty: it is.
	Problem string
}

// Verdict on a pod.
type Verdict struct {
	// Pod as it shall be; nil: as it is.
	Pod *corev1.Pod
	// Driver whose exporter was put in; empty: none was.
	Driver string
	// Refusal says why a pod that asks goes without; nil: it does not.
	Refusal *Refusal
	// Warnings for whoever made the pod.
	Warnings []string
}

// Asks tells whether a pod asks for the sidecar and does not have it yet.
func Asks(pod *corev1.Pod) bool {
	return pod.Labels[v1alpha1.LabelExporter] == v1alpha1.ExporterSidecar && !carries(pod)
}

// carries tells whether we put the sidecar in before: admission may call twice, and people copy pods.
func carries(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.InitContainers, func(c corev1.Container) bool {
		return c.Name == Container && len(c.Command) > 0 && c.Command[0] == binary
	})
}
