package sidecar

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

const (
	// binaryDir is where the binary is in the sidecar; binary is its path.
	binaryDir = "/gpu-dra-bin"
	binary    = binaryDir + "/gpu-dra"
	// tokenDir is where the token of the pod's ServiceAccount would be. What is mounted there by the pod itself, the API
	// server leaves alone; and it looks again after we changed the pod, so leaving the mount out would not do.
	tokenDir = "/var/run/secrets/kubernetes.io/serviceaccount"
	// user that everything runs as: the exporters need no other, and level `restricted` asks for one that is not root.
	user = 64535
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// inject returns the pod with the sidecar.
func (c Config) inject(in Input, driver string) *corev1.Pod {
	pod := in.Pod.DeepCopy()
	e := c.Drivers[driver].Exporter
	claims := c.claimsOf(in, driver)
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: Volume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}})
	// Before the pod's own init containers: sidecars end in reverse order, so the exporter outlives every other sidecar that
	// may use the devices, and init containers that use them are seen too.
	pod.Spec.InitContainers = slices.Concat([]corev1.Container{c.installer(in.Pod), c.container(in, e, claims)}, pod.Spec.InitContainers)
	for _, secret := range c.PullSecrets {
		if !refers(pod, secret) {
			pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, corev1.LocalObjectReference{Name: secret})
		}
	}
	if _, own := pod.Labels[v1alpha1.LabelClaim]; !own {
		names := make([]string, len(claims))
		for i, name := range claims {
			names[i] = in.Claims[name].Name
		}
		pod.Labels[v1alpha1.LabelClaim] = labelValue(names)
	}
	evictable(pod)
	return pod
}

// safeVolumes names volumes whose contents may be lost: without it cluster-autoscaler keeps a node that has nothing left but pods
// with a volume of their own.
const safeVolumes = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"

func evictable(pod *corev1.Pod) {
	names := Volume
	if said := pod.Annotations[safeVolumes]; said != "" {
		if slices.Contains(strings.Split(said, ","), Volume) {
			return
		}
		names = said + "," + Volume
	}
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[safeVolumes] = names
}

// claimsOf are the pod's names of its claims for devices of a driver.
func (c Config) claimsOf(in Input, driver string) []string {
	var out []string
	for _, named := range in.Pod.Spec.ResourceClaims {
		if slices.Contains(c.look(in.Claims[named.Name]).drivers, driver) {
			out = append(out, named.Name)
		}
	}
	return out
}

// installer copies our binary out of our image: the exporter's image has neither it nor, often, a shell.
func (c Config) installer(pod *corev1.Pod) corev1.Container {
	out := c.base(pod, Installer, c.Image)
	out.Args = []string{"sidecar", "install", "--to=" + binary}
	out.VolumeMounts = append(out.VolumeMounts, corev1.VolumeMount{Name: Volume, SubPath: "bin", MountPath: binaryDir})
	out.Resources = resources(pod, corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("64Mi"),
	})
	return out
}

// container is the sidecar. It has no probe: a startup probe would hold the engine while the exporter does not start, a
// readiness probe would take the pod out of its Services, a liveness probe would do what the entry does by itself.
func (c Config) container(in Input, e *Exporter, claims []string) corev1.Container {
	out := c.base(in.Pod, Container, e.Image)
	limits := e.limits(devicesOf(in, claims))
	out.Env = append(slices.Clone(e.Env), e.runtime(limits)...)
	own, bounded := limits[corev1.ResourceMemory]
	if bounded {
		memory := own.DeepCopy()
		memory.Add(ours)
		limits[corev1.ResourceMemory] = memory
	}
	out.Resources = resources(in.Pod, limits)
	for _, name := range claims {
		out.Resources.Claims = append(out.Resources.Claims, corev1.ResourceClaim{Name: name})
	}
	out.RestartPolicy = ptr.To(corev1.ContainerRestartPolicyAlways)
	out.Command = []string{binary}
	out.Args = slices.Concat([]string{
		"sidecar", "run", fmt.Sprintf("--listen=:%d", e.Port), "--path=" + e.Path, "--interval=" + c.Interval.String(), "--grace=" + graceOf(in.Pod).String(),
		"--collect=" + e.Collect.String(),
	}, memoryFlag(out.Resources.Limits, own), files(e), []string{"--"}, e.Command, e.Args)
	out.Ports = []corev1.ContainerPort{{Name: PortName, ContainerPort: e.Port, Protocol: corev1.ProtocolTCP}}
	// The kubelet runs it when the pod begins to end, long before this container's turn: from then on the grace period runs.
	out.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: &corev1.ExecAction{
		Command: []string{binary, "sidecar", "ending", fmt.Sprintf("--port=%d", e.Port)},
	}}}
	out.VolumeMounts = append(out.VolumeMounts,
		corev1.VolumeMount{Name: Volume, SubPath: "bin", MountPath: binaryDir, ReadOnly: true},
		corev1.VolumeMount{Name: Volume, SubPath: "tmp", MountPath: "/tmp"})
	return out
}

// memoryFlag has the exporter started again before it takes what the container may, of which 48Mi are ours. Otherwise the kernel ends
// the container with it (cgroup v2), and a container that does not run makes the pod unready.
func memoryFlag(limits corev1.ResourceList, own resource.Quantity) []string {
	if _, ok := limits[corev1.ResourceMemory]; !ok || own.Value() <= 0 {
		return nil
	}
	return []string{fmt.Sprintf("--memory=%d", own.Value())}
}

// files of the exporter as flags. The kubelet expands $(NAME) in arguments, and $$ is its dollar.
func files(e *Exporter) []string {
	var out []string
	for _, name := range sorted(e.Files) {
		out = append(out, "--file="+name+"="+strings.ReplaceAll(e.Files[name], "$", "$$"))
	}
	return out
}

// base is a container that fits the Pod Security level restricted, whatever the pod says of all its containers.
func (c Config) base(pod *corev1.Pod, name, image string) corev1.Container {
	out := corev1.Container{
		Name: name, Image: image, ImagePullPolicy: corev1.PullIfNotPresent,
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		VolumeMounts:             []corev1.VolumeMount{{Name: Volume, SubPath: "no-token", MountPath: tokenDir, ReadOnly: true}},
		SecurityContext: &corev1.SecurityContext{
			RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](user), RunAsGroup: ptr.To[int64](user),
			AllowPrivilegeEscalation: ptr.To(false), Privileged: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
			Capabilities:   &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		},
	}
	// A profile made for the engine need not let our programs run. Any other stays as it is: on hosts without AppArmor the kubelet
	// refuses a pod that names one.
	if s := pod.Spec.SecurityContext; s != nil && s.AppArmorProfile != nil && s.AppArmorProfile.Type == corev1.AppArmorProfileTypeLocalhost {
		out.SecurityContext.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeRuntimeDefault}
	}
	return out
}
