package profile

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// guardName is the init container of every plugin; volumes that it looks into are called so with a number.
const guardName, guardVolumes = "guard", "guard-wait-"

// podFields are the fields of a pod that an environment variable can hold.
var podFields = []string{
	"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName",
	"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs",
}

func (c *checker) containers(d *Driver) {
	list := d.Plugin.Containers
	if !slices.ContainsFunc(list, func(x Container) bool { return x.When == nil }) {
		c.wrong("plugin.containers", phrase(fmt.Sprintf("%d, none of them without when", len(list))), "at least one that always runs")
	}
	c.whens(d)
	names, ports, volumes, uid := map[string]bool{guardName: true}, map[int32]bool{}, map[string]Mount{}, false
	for i, x := range list {
		field := fmt.Sprintf("plugin.containers[%d].", i)
		if len(validation.IsDNS1123Label(x.Name)) > 0 || names[x.Name] {
			c.wrong(field+"name", x.Name, "a lower case name that no other container of the pod has, nor "+guardName)
		}
		names[x.Name] = true
		c.command(field, x.Command, allTokens)
		for j, text := range x.Args {
			c.tokens(fmt.Sprintf("%sargs[%d]", field, j), text, allTokens)
		}
		uid = c.env(field, x.Env, allTokens) || uid
		if x.Privileged != "" && len(x.Capabilities) > 0 {
			c.wrong(field+"capabilities", x.Capabilities, "none in a privileged container, which has all of them")
		}
		for j, name := range x.Capabilities {
			c.capability(fmt.Sprintf("%scapabilities[%d]", field, j), name)
		}
		c.port(field+"healthPort", x.HealthPort, ports)
		c.port(field+"metricsPort", x.MetricsPort, ports)
		c.mounts(field, x, volumes)
		c.resources(field+"resources.", x.Resources)
	}
	if d.Plugin.PerPodSockets && !uid {
		c.wrong("plugin.perPodSockets", true, "an environment variable with the field metadata.uid, from which the plugin names its sockets")
	}
}

// command is the image's business: nothing is filled in.
func (c *checker) command(field string, list, tokens []string) {
	for i, text := range list {
		if slices.ContainsFunc(tokens, func(t string) bool { return strings.Contains(text, t) }) {
			c.wrong(fmt.Sprintf("%scommand[%d]", field, i), text, "no token; tokens are filled in in args and env")
		}
	}
}

func (c *checker) capability(field, name string) {
	if name == "ALL" || strings.HasPrefix(name, "CAP_") || name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") != "" {
		c.wrong(field, name, "one capability such as SYS_ADMIN")
	}
}

// env reports whether the pod's uid is one of the variables.
func (c *checker) env(field string, list []Env, tokens []string) (uid bool) {
	seen := map[string]bool{}
	for i, e := range list {
		at := fmt.Sprintf("%senv[%d].", field, i)
		if len(validation.IsCIdentifier(e.Name)) > 0 || seen[e.Name] {
			c.wrong(at+"name", e.Name, "the name of a variable that the container does not already have")
		}
		seen[e.Name] = true
		if (e.Value == "") == (e.Field == "") {
			c.wrong(strings.TrimSuffix(at, "."), phrase(fmt.Sprintf("value %q and field %q", e.Value, e.Field)), "exactly one of the two")
		}
		if e.Field != "" {
			oneOf(c, at+"field", e.Field, podFields...)
		}
		c.tokens(at+"value", e.Value, tokens)
		uid = uid || e.Field == "metadata.uid"
	}
	return uid
}

// port of a container; the containers of a pod share one network.
func (c *checker) port(field string, port int32, taken map[int32]bool) {
	switch {
	case port < 0 || port > 65535:
		c.wrong(field, port, "a port from 1 to 65535, or 0 for none")
	case port != 0 && taken[port]:
		c.wrong(field, port, "a port that nothing else in the pod listens on")
	}
	taken[port] = true
}

// tokenPath is where Kubernetes mounts the token of a pod's ServiceAccount.
const tokenPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// mounts checks those of a container that has something at the paths taken already. Paths that clean to the same are one.
func (c *checker) mounts(field string, x Container, volumes map[string]Mount, taken ...string) {
	paths := map[string]bool{tokenPath: true}
	for _, t := range taken {
		paths[path.Clean(t)] = true
	}
	for i, m := range x.Mounts {
		at := fmt.Sprintf("%smounts[%d].", field, i)
		if len(validation.IsDNS1123Label(m.Name)) > 0 || strings.HasPrefix(m.Name, guardVolumes) {
			c.wrong(at+"name", m.Name, "a lower case name that does not begin with "+guardVolumes+", which the guard's volumes have")
		}
		c.path(at+"hostPath", m.HostPath)
		inside := m.HostPath
		if m.Path != "" {
			c.path(at+"path", m.Path)
			inside = m.Path
		}
		if paths[path.Clean(inside)] {
			c.wrong(at+"path", inside, "a path where the container has nothing else mounted")
		}
		paths[path.Clean(inside)] = true
		if v, taken := volumes[m.Name]; taken && (v.HostPath != m.HostPath || v.Type != m.Type) {
			c.wrong(at+"name", m.Name, fmt.Sprintf("the hostPath %q and the type %q that this name has before", v.HostPath, v.Type))
		} else {
			volumes[m.Name] = m
		}
		oneOf(c, at+"type", m.Type, corev1.HostPathUnset, corev1.HostPathDirectoryOrCreate, corev1.HostPathDirectory,
			corev1.HostPathFileOrCreate, corev1.HostPathFile, corev1.HostPathSocket, corev1.HostPathCharDev, corev1.HostPathBlockDev)
		oneOf(c, at+"propagation", m.Propagation, "", corev1.MountPropagationNone, corev1.MountPropagationHostToContainer, corev1.MountPropagationBidirectional)
		if m.Propagation == corev1.MountPropagationBidirectional && x.Privileged == "" {
			c.wrong(at+"propagation", string(m.Propagation), "another one, or a container that is privileged: Kubernetes allows it there only")
		}
	}
}

func (c *checker) resources(field string, r *ContainerResources) {
	if r == nil {
		return
	}
	for _, f := range ResourceFaults(r.Requests, r.Limits) {
		c.wrong(field+f.Field, f.Found, f.Expected)
	}
}
