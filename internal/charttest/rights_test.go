package charttest

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// readOnly verbs.
var readOnly = map[string]bool{"get": true, "list": true, "watch": true}

// writes are all that anything the chart creates may do besides reading, in the whole cluster; who may do it stands in the
// golden files. A row that nothing has is a fault, here and in the tables below.
var writes = map[string][]string{
	"/nodes":                                        {"patch"},
	"resource.k8s.io/resourceclaimtemplates":        {"create", "patch", "delete"},
	"gpu-dra.deckhouse.io/gpunodes":                 {"create", "patch", "delete"},
	"gpu-dra.deckhouse.io/gpunodes/status":          {"patch"},
	"gpu-dra.deckhouse.io/gpustacks":                {"create"},
	"gpu-dra.deckhouse.io/gpustacks/status":         {"patch"},
	"gpu-dra.deckhouse.io/gpunodegroups":            {"create", "patch", "delete"},
	"gpu-dra.deckhouse.io/gpunodegroups/status":     {"update"},
	"gpu-dra.deckhouse.io/gpuclaimtemplates":        {"create", "update", "patch", "delete", "deletecollection"},
	"gpu-dra.deckhouse.io/gpuclaimtemplates/status": {"patch"},
	"deckhouse.io/moduleconfigs":                    {"create", "update", "patch", "delete"},
	// By name only: its own.
	"admissionregistration.k8s.io/mutatingwebhookconfigurations": {"patch"},
}

// driverWrites are what kubelet plugins may do besides reading, in the whole cluster.
var driverWrites = map[string][]string{
	"resource.k8s.io/resourceslices": {"create", "update", "patch", "delete"},
	// One labels its node with the fabric that it is in.
	"/nodes": {"update", "patch"},
}

// exporterWrites are what exporters may do besides reading: nothing.
var exporterWrites = map[string][]string{}

// namespaceWrites are what the chart's components may do in their own namespace.
var namespaceWrites = map[string][]string{
	"coordination.k8s.io/leases": {"create", "update"},
	// A sharing daemon is a Deployment that the plugin makes for a claim.
	"apps/deployments": {"create", "delete"},
	// By name only: the certificate of the webhook.
	"/secrets": {"update"},
}

// everything runs each built-in driver with all that its profile can have: every gate, compute domains, passthrough.
func everything(t testing.TB) Options {
	t.Helper()
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	groups, drivers := []any{}, map[string]any{}
	for _, d := range builtin {
		// One group a gate: some exclude each other.
		for i, gate := range append([]profile.Gate{{}}, d.Gates...) {
			gates := map[string]any{}
			switchOn(d, gate, gates)
			groups = append(groups, map[string]any{
				"name": d.Name + "-" + string(rune('a'+i)), "drivers": []any{d.Name}, "nodeSelector": map[string]any{"a": "b"},
				"driverOverrides": map[string]any{d.Name: map[string]any{"featureGates": gates}},
			})
		}
		drivers[d.Name] = map[string]any{"computeDomains": true}
	}
	return Options{Values: map[string]any{"nodeGroups": groups, "drivers": drivers}, KubeVersion: versions[len(versions)-1]}
}

// switchOn puts a gate on with all that it requires, and off what it excludes.
func switchOn(d profile.Driver, gate profile.Gate, gates map[string]any) {
	if gate.Name == "" {
		return
	}
	gates[gate.Name] = true
	for _, other := range d.Gates {
		if slices.Contains(gate.Requires, other.Name) {
			switchOn(d, other, gates)
		}
		if other.Default && (slices.Contains(gate.Excludes, other.Name) || slices.Contains(other.Excludes, gate.Name)) {
			gates[other.Name] = false
		}
	}
}

// profilesOf are the driver profiles that a render works with.
func profilesOf(t testing.TB, o Options) *profile.Set {
	t.Helper()
	in := o.Values
	if under, ok := in["gpuDra"].(map[string]any); ok {
		in = under
	}
	raw, err := json.Marshal(in)
	require.NoError(t, err)
	s, err := settings.FromValues(raw)
	require.NoError(t, err)
	set, problems := settings.Profiles(s)
	require.Empty(t, problems)
	return set
}

// rendered are the renders whose rights are looked at.
func rendered(t testing.TB) []Options {
	out := []Options{everything(t)}
	for _, name := range distributions {
		out = append(out, exampleOf(t, name, "v1.34.4", true), exampleOf(t, name, "v1.37.2", true))
	}
	for _, o := range webhooks(t) {
		out = append(out, o)
	}
	return out
}

func TestRightsAreNoWiderThanNeeded(t *testing.T) {
	// What each table allows and nobody had yet.
	unused := map[string]map[string][]string{}
	for name, table := range map[string]map[string][]string{"writes": writes, "driverWrites": driverWrites, "exporterWrites": exporterWrites, "namespaceWrites": namespaceWrites} {
		unused[name] = map[string][]string{}
		for resource, verbs := range table {
			unused[name][resource] = slices.Clone(verbs)
		}
	}
	for _, o := range rendered(t) {
		for _, object := range objects(t, o) {
			switch r := object.(type) {
			case *rbacv1.ClusterRole:
				component := r.Labels["app.kubernetes.io/component"]
				allowed, name := writes, "writes"
				switch {
				case strings.HasPrefix(component, "driver-"):
					allowed, name = driverWrites, "driverWrites"
				case strings.HasPrefix(component, "exporter-"):
					allowed, name = exporterWrites, "exporterWrites"
				}
				for _, rule := range r.Rules {
					if len(rule.NonResourceURLs) > 0 {
						require.Equal(t, "controller", component)
						require.Equal(t, rbacv1.PolicyRule{NonResourceURLs: []string{"/metrics"}, Verbs: []string{"get"}}, rule)
						continue
					}
					check(t, r.Name, rule, allowed, unused[name])
				}
			case *rbacv1.Role:
				for _, rule := range r.Rules {
					check(t, r.Name, rule, namespaceWrites, unused["namespaceWrites"])
				}
			}
		}
	}
	for name, table := range unused {
		for resource, verbs := range table {
			assert.Empty(t, verbs, "%s of %s: nothing has it, take it out of %s", verbs, resource, name)
		}
	}
}

// check looks at one rule, and takes what it has off unused.
func check(t *testing.T, role string, rule rbacv1.PolicyRule, allowed, unused map[string][]string) {
	t.Helper()
	require.Empty(t, rule.NonResourceURLs)
	for _, group := range rule.APIGroups {
		for _, resource := range rule.Resources {
			require.NotContains(t, group, "*", role)
			require.NotContains(t, resource, "*", role)
			for _, verb := range rule.Verbs {
				require.NotContains(t, verb, "*", role)
				if !readOnly[verb] {
					id := group + "/" + resource
					require.Contains(t, allowed[id], verb, "%s: %s of %s", role, verb, id)
					unused[id] = slices.DeleteFunc(unused[id], func(v string) bool { return v == verb })
				}
			}
			// Nobody here has business with Secrets but those that the chart names.
			if resource == "secrets" || resource == "mutatingwebhookconfigurations" {
				require.NotEmpty(t, rule.ResourceNames, role)
				require.Subset(t, []string{"get", "update", "patch"}, rule.Verbs, role)
			}
			// A name cannot be given for create: all else is of the one lease.
			if resource == "leases" && !slices.Equal(rule.Verbs, []string{"create"}) {
				require.Equal(t, []string{"gpu-dra-controller"}, rule.ResourceNames, role)
			}
		}
	}
}

// A driver's pod has what its profile asks for, and the chart adds nothing to that.
func TestDriversHaveWhatTheirProfilesSay(t *testing.T) {
	for _, o := range rendered(t) {
		profiles := profilesOf(t, o)
		seen := 0
		for _, object := range objects(t, o) {
			d, ok := object.(*appsv1.DaemonSet)
			if !ok {
				continue
			}
			seen++
			p, known := profiles.ByName(d.Labels["gpu-dra.deckhouse.io/driver"])
			require.True(t, known, d.Name)
			plugin := p.Plugin
			if strings.HasPrefix(d.Labels["app.kubernetes.io/component"], "exporter-") {
				plugin = asPlugin(p.Exporter)
			}
			checkPod(t, d.Name, d.Spec.Template.Spec, plugin)
		}
		require.NotZero(t, seen)
	}
}

// asPlugin is an exporter in the shape of a plugin. Its chart's own volumes hold a token and its configuration; none of the renders
// here asks for profiling metrics.
func asPlugin(e *profile.Exporter) *profile.Plugin {
	c := profile.Container{Name: "exporter", Privileged: e.Privileged, WritableRoot: e.WritableRoot, Mounts: e.Mounts}
	c.Mounts = append(slices.Clone(c.Mounts), profile.Mount{Name: "gpu-dra-token"}, profile.Mount{Name: "gpu-dra-config"})
	for _, x := range e.Capabilities {
		if x.When == nil {
			c.Capabilities = append(c.Capabilities, x.Name)
		}
	}
	return &profile.Plugin{Containers: []profile.Container{c}, WaitFor: e.WaitFor}
}

func checkPod(t *testing.T, name string, pod corev1.PodSpec, plugin *profile.Plugin) {
	t.Helper()
	require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC, name)
	containers := map[string]profile.Container{}
	paths := map[string]bool{}
	for _, c := range plugin.Containers {
		containers[c.Name] = c
		for _, m := range c.Mounts {
			paths[m.HostPath] = true
		}
	}
	for _, c := range pod.Containers {
		p, known := containers[c.Name]
		require.True(t, known, "%s: %s", name, c.Name)
		s := c.SecurityContext
		require.Equal(t, p.Privileged != "", s.Privileged != nil && *s.Privileged, "%s: %s", name, c.Name)
		require.Equal(t, p.WritableRoot == "", *s.ReadOnlyRootFilesystem, "%s: %s", name, c.Name)
		if p.Privileged == "" {
			require.False(t, *s.AllowPrivilegeEscalation, "%s: %s", name, c.Name)
			require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, s.SeccompProfile.Type, "%s: %s", name, c.Name)
			require.Equal(t, []corev1.Capability{"ALL"}, s.Capabilities.Drop, "%s: %s", name, c.Name)
			require.Len(t, s.Capabilities.Add, len(p.Capabilities), "%s: %s", name, c.Name)
		}
		require.LessOrEqual(t, len(c.VolumeMounts), len(p.Mounts), "%s: %s", name, c.Name)
	}
	require.Len(t, pod.InitContainers, 1, name)
	restricted(t, pod.InitContainers[0])
	require.True(t, *pod.InitContainers[0].SecurityContext.RunAsNonRoot)
	for _, m := range pod.InitContainers[0].VolumeMounts {
		require.True(t, m.ReadOnly, "%s: the guard only looks", name)
	}
	for _, w := range plugin.WaitFor {
		paths[w.HostPath] = true
	}
	for _, v := range pod.Volumes {
		if v.HostPath == nil {
			require.Contains(t, []string{"gpu-dra-token", "gpu-dra-config"}, v.Name, name)
			continue
		}
		require.True(t, matches(paths, v.HostPath.Path), "%s mounts %s, which its profile does not", name, v.HostPath.Path)
	}
}

// matches tells whether a path of the host is one of the profile's, whose first part may be a token.
func matches(paths map[string]bool, path string) bool {
	for p := range paths {
		if p == path {
			return true
		}
		if _, rest, ok := strings.Cut(p, "}"); ok && strings.HasPrefix(p, "{") && strings.HasSuffix(path, rest) {
			return true
		}
	}
	return false
}

// The controller fits the Pod Security level restricted.
func TestControllerIsRestricted(t *testing.T) {
	pod := Find[*appsv1.Deployment](objects(t, Options{}), "controller").Spec.Template.Spec
	require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC)
	require.True(t, *pod.SecurityContext.RunAsNonRoot)
	require.Equal(t, corev1.SeccompProfileTypeRuntimeDefault, pod.SecurityContext.SeccompProfile.Type)
	for _, v := range pod.Volumes {
		require.NotNil(t, v.ConfigMap, "%s: only the settings are mounted", v.Name)
	}
	for _, c := range pod.Containers {
		restricted(t, c)
	}
}

// restricted is a container without rights on its host.
func restricted(t *testing.T, c corev1.Container) {
	t.Helper()
	s := c.SecurityContext
	require.False(t, *s.AllowPrivilegeEscalation)
	require.True(t, *s.ReadOnlyRootFilesystem)
	require.Nil(t, s.Privileged)
	require.Equal(t, []corev1.Capability{"ALL"}, s.Capabilities.Drop)
	require.Empty(t, s.Capabilities.Add)
	for _, p := range c.Ports {
		require.Greater(t, p.ContainerPort, int32(1024))
	}
}
