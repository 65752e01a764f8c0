package sidecar

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// usualGrace is terminationGracePeriodSeconds of a pod that says nothing.
const usualGrace = 30 * time.Second

// Decide says what becomes of a pod that is being created. Deciding twice changes nothing more.
func Decide(c Config, in Input) Verdict {
	if !Asks(in.Pod) {
		return Verdict{}
	}
	driver, refusal := c.decide(in)
	if refusal != nil {
		// Most pods are made by controllers, whose warnings nobody sees: the pod itself says it too.
		pod := in.Pod.DeepCopy()
		mark(pod, fmt.Sprintf("refused: %s: %s", refusal.Reason, refusal.Words))
		return Verdict{Pod: pod, Refusal: refusal, Warnings: []string{refusal.Warning()}}
	}
	pod := c.inject(in, driver)
	mark(pod, "injected: "+driver)
	return Verdict{Pod: pod, Driver: driver, Warnings: c.doubts(pod, c.Drivers[driver].Exporter.Collect)}
}

func mark(pod *corev1.Pod, words string) {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[v1alpha1.AnnotationSidecar] = words
}

// decide returns the driver whose exporter goes into the pod.
func (c Config) decide(in Input) (string, *Refusal) {
	if !slices.Contains(c.Namespaces, in.Namespace) {
		return "", refuse(NamespaceNotListed, "the setting exporter.sidecar.namespaces does not name namespace %s", in.Namespace)
	}
	if refusal := c.unfit(in.Pod); refusal != nil {
		return "", refusal
	}
	driver, refusal := c.driver(in)
	if refusal != nil {
		return "", refusal
	}
	exporter := c.Drivers[driver].Exporter
	if refusal := c.collides(in.Pod, exporter.Port); refusal != nil {
		return "", refusal
	}
	for _, secret := range c.PullSecrets {
		// An image that cannot be pulled would keep the engine from starting, for as long as the pod exists.
		if refers(in.Pod, secret) {
			continue
		}
		switch have, ok := in.Secrets[secret]; {
		case ok && have.Problem != "":
			return "", refuse(PullSecretUnreadable, "Secret %s in namespace %s could not be read, create the pod again when it can be: %s", secret, in.Namespace, have.Problem)
		case !ok:
			return "", refuse(PullSecretMissing, "namespace %s has no Secret %s, by which the sidecar's images are pulled: create it there", in.Namespace, secret)
		}
	}
	return driver, nil
}

// unfit refuses pods that the sidecar would harm whatever its exporter is.
func (c Config) unfit(pod *corev1.Pod) *Refusal {
	spec := &pod.Spec
	switch {
	case spec.OS != nil && spec.OS.Name != corev1.Linux:
		return refuse(NotLinux, "spec.os.name is %s, and the exporters run on Linux", spec.OS.Name)
	case spec.HostNetwork:
		return refuse(HostNetwork, "spec.hostNetwork: the port of the metrics would be taken on the node, and a second such pod could not start there")
	case spec.Resources != nil:
		// Requests of containers may not exceed the pod's, and without any the exporter would live on the engine's budget.
		return refuse(PodResources, "spec.resources: the exporter would share the budget that was set for the whole pod; set resources of containers instead")
	}
	return nil
}

// collides refuses pods where a name or port of the sidecar is taken.
func (c Config) collides(pod *corev1.Pod, port int32) *Refusal {
	containers := slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers)
	for _, container := range containers {
		if container.Name == Container || container.Name == Installer {
			return refuse(NameTaken, "the pod has a container %s of its own: rename it", container.Name)
		}
		for _, p := range container.Ports {
			if p.Name == PortName {
				return refuse(NameTaken, "port %s of container %s has the name of the sidecar's: rename it", p.Name, container.Name)
			}
			if p.ContainerPort == port && p.Protocol != corev1.ProtocolUDP && p.Protocol != corev1.ProtocolSCTP {
				return refuse(PortTaken, "container %s listens on port %d, as the exporter would: give it another", container.Name, port)
			}
		}
	}
	for _, v := range pod.Spec.Volumes {
		if v.Name == Volume {
			return refuse(NameTaken, "the pod has a volume %s of its own: rename it", v.Name)
		}
	}
	return nil
}

func refers(pod *corev1.Pod, secret string) bool {
	return slices.ContainsFunc(pod.Spec.ImagePullSecrets, func(r corev1.LocalObjectReference) bool { return r.Name == secret })
}

// doubts about a pod that has the sidecar of an exporter that collects so often.
func (c Config) doubts(pod *corev1.Pod, collect time.Duration) []string {
	grace := graceOf(pod)
	if grace >= collect+c.Interval+leaving {
		return nil
	}
	return []string{cut(fmt.Sprintf("gpu-dra: terminationGracePeriodSeconds is %d: shorter than %s to collect, the scrape interval of %s and %s to end in, "+
		"so the last sample may be lost", int(grace.Seconds()), collect, c.Interval, leaving), warningLimit)}
}

// leaving is what the sidecar needs to end.
const leaving = 2 * time.Second

// longestGrace counts where a pod says more: in nanoseconds its number may be none that fits.
const longestGrace = 365 * 24 * time.Hour

func graceOf(pod *corev1.Pod) time.Duration {
	s := pod.Spec.TerminationGracePeriodSeconds
	switch {
	case s == nil:
		return usualGrace
	case *s < 0:
		// Kubernetes before 1.37 takes such pods; who deletes one gives it a second.
		return time.Second
	}
	return time.Duration(min(*s, int64(longestGrace/time.Second))) * time.Second
}

// driver finds the one driver whose devices the pod's claims ask for and whose exporter works as a sidecar.
func (c Config) driver(in Input) (string, *Refusal) {
	if len(in.Pod.Spec.ResourceClaims) == 0 {
		return "", refuse(NoClaim, "spec.resourceClaims is empty: the exporter shows the devices of a claim")
	}
	var without, unread, found []string
	var all sight
	for _, named := range in.Pod.Spec.ResourceClaims {
		claim, ok := in.Claims[named.Name]
		if !ok || claim.Problem != "" {
			unread = append(unread, fmt.Sprintf("claim %s: %s", named.Name, claim.Problem))
			continue
		}
		seen := c.look(claim)
		all.unknown = append(all.unknown, seen.unknown...)
		all.unshown = append(all.unshown, seen.unshown...)
		for _, d := range seen.drivers {
			if c.Drivers[d].Exporter == nil {
				without = append(without, d)
			} else if !slices.Contains(found, d) {
				found = append(found, d)
			}
		}
	}
	switch {
	case len(found) > 1:
		return "", refuse(SeveralDrivers, "its claims are for devices of the drivers %s, and a pod carries one exporter", strings.Join(found, " and "))
	case len(found) == 1:
		return found[0], nil
	case len(unread) > 0:
		return "", refuse(ClaimUnreadable, "%s", strings.Join(unread, "; "))
	case len(without) > 0:
		return "", refuse(NoSidecar, "driver %s %s; use exporter.mode DaemonSet", without[0], c.Drivers[without[0]].Without)
	case len(all.unknown) > 0:
		return "", refuse(DriverUnknown, "%s: no driver profile has it; name the driver of your own classes in deviceClasses.extra", strings.Join(all.unknown, ", "))
	case len(all.unshown) > 0:
		return "", refuse(NoSidecar, "%s: no exporter shows such devices, which go to virtual machines or are no accelerators", strings.Join(all.unshown, ", "))
	}
	return "", refuse(NoClaim, "its claims ask for no device")
}

// sight of a claim: names of profiles, what of it no exporter shows, and what nobody knows.
type sight struct{ drivers, unshown, unknown []string }

// look at a claim. Devices that were allocated say more than the classes asked for, except where all of these are for virtual
// machines: such a device comes from the same driver.
func (c Config) look(claim Claim) sight {
	var out sight
	for _, class := range claim.Classes {
		if d, ok := c.Classes[class]; ok {
			out.drivers = append(out.drivers, d)
		} else if c.Unshown[class] {
			out.unshown = append(out.unshown, "DeviceClass "+class)
		} else {
			out.unknown = append(out.unknown, "DeviceClass "+class)
		}
	}
	if len(out.unshown) > 0 && len(out.drivers)+len(out.unknown) == 0 {
		return out
	}
	var allocated sight
	for _, name := range claim.Drivers {
		for _, profile := range sorted(c.Drivers) {
			if d := c.Drivers[profile]; d.Name == name {
				allocated.drivers = append(allocated.drivers, profile)
			} else if slices.Contains(d.Others, name) {
				allocated.unshown = append(allocated.unshown, "driver "+name)
			}
		}
	}
	if len(allocated.drivers)+len(allocated.unshown) > 0 {
		return allocated
	}
	return out
}
