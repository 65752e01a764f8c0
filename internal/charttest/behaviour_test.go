package charttest

import (
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// parse reads YAML values.
func parse(t testing.TB, in string) map[string]any {
	t.Helper()
	out := map[string]any{}
	require.NoError(t, yaml.Unmarshal([]byte(in), &out))
	return out
}

// objects renders and decodes.
func objects(t testing.TB, o Options) []client.Object {
	t.Helper()
	chart, err := Load()
	require.NoError(t, err)
	documents, _, err := Render(chart, o)
	require.NoError(t, err)
	out, err := Decode(documents)
	require.NoError(t, err)
	return out
}

// classes are the DeviceClasses of a render with their extended resources.
func classes(t testing.TB, o Options) map[string]string {
	t.Helper()
	out := map[string]string{}
	for _, object := range objects(t, o) {
		if c, ok := object.(*resourcev1.DeviceClass); ok {
			out[c.Name] = ""
			if c.Spec.ExtendedResourceName != nil {
				out[c.Name] = *c.Spec.ExtendedResourceName
			}
		}
	}
	return out
}

const group = "nodeGroups: [{name: a, drivers: [example], nodeSelector: {a: b}}]\n"

const acme = `
customDrivers:
- name: acme
  driverName: npu.acme.example
  classes: [{name: npu.acme.example, expression: "true", extendedResourceName: acme.example/npu}]
`

func TestDeviceClasses(t *testing.T) {
	acmeGroup := acme + "nodeGroups: [{name: a, drivers: [acme], nodeSelector: {a: b}}]\n"
	for name, c := range map[string]struct {
		values string
		want   map[string]string
	}{
		"no group":                  {"{}", map[string]string{}},
		"the driver of a group":     {group, map[string]string{"gpu.example.com": ""}},
		"a passive group":           {"nodeGroups: [{name: a, drivers: [example], nodeSelector: {a: b}, passive: true}]", map[string]string{}},
		"of a claim template":       {"claimTemplates: [{name: a, driver: example, namespaces: [x]}]", map[string]string{"gpu.example.com": ""}},
		"passive though asked for":  {"nodeGroups: [{name: a, drivers: [example], nodeSelector: {a: b}, passive: true}]\nclaimTemplates: [{name: a, driver: example, namespaces: [x]}]", map[string]string{}},
		"never":                     {group + "deviceClasses: {create: Never}", map[string]string{}},
		"never but this one":        {group + "deviceClasses: {create: Never, classes: {gpu.example.com: {create: Always}}}", map[string]string{"gpu.example.com": ""}},
		"not this one":              {group + "deviceClasses: {classes: {gpu.example.com: {create: Never}}}", map[string]string{}},
		"extended resource unknown": {acmeGroup, map[string]string{"npu.acme.example": ""}},
		"extended resource on":      {acmeGroup + "cluster: {featureGates: {DRAExtendedResource: true}}", map[string]string{"npu.acme.example": "acme.example/npu"}},
		"extended resource off":     {acmeGroup + "cluster: {featureGates: {DRAExtendedResource: false}}", map[string]string{"npu.acme.example": ""}},
		"extended resource always":  {acmeGroup + "deviceClasses: {extendedResources: Always}", map[string]string{"npu.acme.example": "acme.example/npu"}},
		"extended resource never":   {acmeGroup + "cluster: {featureGates: {DRAExtendedResource: true}}\ndeviceClasses: {extendedResources: Never}", map[string]string{"npu.acme.example": ""}},
		"extended resource of one":  {acmeGroup + "deviceClasses: {classes: {npu.acme.example: {extendedResources: Always}}}", map[string]string{"npu.acme.example": "acme.example/npu"}},
		"extra":                     {"deviceClasses: {extra: [{name: a.example.com, selectors: ['true'], driver: example, extendedResourceName: example.com/a}]}", map[string]string{"a.example.com": ""}},
		"a profile of one's own":    {"customDrivers: [{name: example, driverName: gpu.example.com}]\n" + group, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, classes(t, Options{Values: parse(t, c.values)}))
		})
	}
}

func TestForeignClassesUnderHooks(t *testing.T) {
	cluster := values.Cluster{ForeignDeviceClasses: []string{"gpu.example.com"}}
	render := func(in string) map[string]string {
		return classes(t, Options{Values: underHooks(t, parse(t, in), values.Internal{Cluster: cluster})})
	}
	require.Empty(t, render(group), "though the controller has observed nothing yet")
	require.Len(t, render(group+"deviceClasses: {create: Always}"), 1)
	require.Len(t, render(group+"deviceClasses: {classes: {gpu.example.com: {create: Always}}}"), 1)
}

// What Go refuses is not created, and a built-in profile that it was to replace stays.
func TestRefusedUnderHooks(t *testing.T) {
	in := `
nodeGroups: [{name: a, drivers: [example, thief, acme]}]
customDrivers:
- {name: example, driverName: gpu.example.com, topology: {PCIeRoot: nodomain}}
- {name: thief, driverName: gpu.example.com, classes: [{name: thief.example.com, expression: "true"}]}
- {name: acme, driverName: npu.acme.example, classes: [{name: npu.acme.example, expression: "true"}]}
deviceClasses:
  extra: [{name: bad.example.com, selectors: ["1 +"]}, {name: own.example.com, selectors: ["true"]}]
`
	for _, observed := range []bool{false, true} {
		cluster := values.Cluster{
			Observed: observed, RefusedDrivers: []string{"example", "thief"}, RefusedDeviceClasses: []string{"bad.example.com"},
		}
		o := Options{Values: underHooks(t, parse(t, in), values.Internal{Cluster: cluster})}
		require.Equal(t, map[string]string{"gpu.example.com": "", "npu.acme.example": "", "own.example.com": ""}, classes(t, o))

		c, err := settings.ParseControllerConfig([]byte(Find[*corev1.ConfigMap](objects(t, o), "controller-config").Data["config.yaml"]))
		require.NoError(t, err)
		require.Len(t, c.Settings.CustomDrivers, 3, "the controller has to report what is wrong")
		require.Len(t, c.Settings.DeviceClasses.Extra, 2)
		set, _ := c.Profiles()
		require.Equal(t, cluster.RefusedDrivers, settings.RefusedDrivers(c.Settings, set), "what the hook writes")
		require.Equal(t, cluster.RefusedDeviceClasses, settings.RefusedDeviceClasses(c.Settings))
	}
}

// The facts of the setting `cluster` are for those who have no hooks.
func TestHooksGoOverTheSettingCluster(t *testing.T) {
	in := acme + "nodeGroups: [{name: a, drivers: [acme]}]\ncluster: {featureGates: {DRAExtendedResource: true}}"
	for on, want := range map[bool]string{true: "acme.example/npu", false: ""} {
		cluster := values.Cluster{Observed: true, ExtendedResources: map[string]bool{"acme": on}}
		got := classes(t, Options{Values: underHooks(t, parse(t, in), values.Internal{Cluster: cluster})})
		require.Equal(t, map[string]string{"npu.acme.example": want}, got)
	}
}

func TestNamespaceAndDistribution(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	config := func(o Options) *settings.ControllerConfig {
		m := Find[*corev1.ConfigMap](objects(t, o), "controller-config")
		c, err := settings.ParseControllerConfig([]byte(m.Data["config.yaml"]))
		require.NoError(t, err)
		require.Equal(t, m.Namespace, c.Namespace)
		return c
	}
	require.Equal(t, "Vanilla", config(Options{}).Distribution.Name)
	require.Equal(t, "gpu-dra-system", config(Options{}).Namespace)
	require.Equal(t, "Rosa", config(Options{Values: parse(t, "distribution: Rosa")}).Distribution.Name)

	plainDeckhouse := Options{APIVersions: []string{"deckhouse.io/v1alpha1/ModuleConfig"}, Values: parse(t, "nodeGroups: [{name: a, drivers: [example]}]")}
	c := config(plainDeckhouse)
	require.Equal(t, "Deckhouse", c.Distribution.Name)
	require.False(t, c.UnderHooks, "helm install on Deckhouse runs no hooks")
	require.Equal(t, "gpu-dra-system", c.Namespace)

	// The first converge: hooks have written nothing yet.
	hooks := Options{Values: parse(t, "global: {}\ngpuDra: {internal: {}, nodeGroups: [{name: a, drivers: [example]}]}"), Namespace: "addon-operator"}
	c = config(hooks)
	require.True(t, c.UnderHooks)
	require.Equal(t, "Deckhouse", c.Distribution.Name)
	require.Equal(t, "d8-gpu-dra", c.Namespace)
	require.NotNil(t, Find[*corev1.Namespace](objects(t, hooks), "d8-gpu-dra"))

	_, _, err = Render(chart, Options{Values: parse(t, "gpuDra: {nodeGroups: []}")})
	require.ErrorContains(t, err, "settings stand at the root of the Helm values")
	_, _, err = Render(chart, Options{KubeVersion: "v1.33.4"})
	require.ErrorContains(t, err, "chart requires kubeVersion")
}

// The verdict on groups has one writer: the hook where hooks run, the controller elsewhere.
func TestWhoMayWriteGroups(t *testing.T) {
	may := func(o Options, name string) bool {
		for _, r := range Find[*rbacv1.ClusterRole](objects(t, o), name).Rules {
			for _, resource := range r.Resources {
				if resource == "gpunodegroups/status" {
					return true
				}
			}
		}
		return false
	}
	require.True(t, may(Options{}, "gpu-dra:controller"))
	require.False(t, may(Options{Values: parse(t, "gpuDra: {internal: {}}")}, "d8:gpu-dra:controller"))
}

func TestImages(t *testing.T) {
	const digest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	const ours = "global: {modulesImages: {registry: {base: registry.example/deckhouse}, digests: {gpuDra: {controller: '" + digest + "'}}}}\n"
	for in, want := range map[string]string{
		"{}":                              "ghcr.io/gpu-dra/gpu-dra:v0.1.0",
		"imageRegistry: registry.local":   "registry.local/gpu-dra/gpu-dra:v0.1.0",
		"imageRegistry: registry.local/m": "registry.local/m/gpu-dra/gpu-dra:v0.1.0",
		"controller: {image: {tag: v2}}":  "ghcr.io/gpu-dra/gpu-dra:v2",
		"controller: {image: {repository: own.example:5000/a/b, tag: v2}}":                                          "own.example:5000/a/b:v2",
		"controller: {image: {repository: own.example:5000/a/b, digest: '" + digest + "'}}\nimageRegistry: m.local": "m.local/a/b@" + digest,
		"controller: {image: {repository: library/b}}\nimageRegistry: m.local":                                      "m.local/library/b:v0.1.0",
		ours + "gpuDra: {internal: {}}":                                              "registry.example/deckhouse@" + digest,
		ours + "gpuDra: {internal: {}, registry: {base: registry.example/modules/}}": "registry.example/modules/gpu-dra@" + digest,
		ours + "gpuDra: {internal: {}, controller: {image: {tag: v3}}}":              "ghcr.io/gpu-dra/gpu-dra:v3",
		"gpuDra: {internal: {}}":                                                     "ghcr.io/gpu-dra/gpu-dra:v0.1.0",
	} {
		d := Find[*appsv1.Deployment](objects(t, Options{Values: parse(t, in)}), "controller")
		require.Equal(t, want, d.Spec.Template.Spec.Containers[0].Image, in)
	}
}
