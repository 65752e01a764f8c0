package charttest

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-dra/gpu-dra/internal/values"
)

const nvidiaGroup = "nodeGroups: [{name: a, drivers: [nvidia], nodeSelector: {a: b}}]\n"

// exporterOf renders with settings and returns the exporter's container and its DaemonSet.
func exporterOf(t *testing.T, o Options, name string) (corev1.Container, *appsv1.DaemonSet) {
	t.Helper()
	ds := daemonSet(t, o, name)
	return ds.Spec.Template.Spec.Containers[0], ds
}

// Labels and the port's name are what the PodMonitor goes by.
func TestExporterDaemonSet(t *testing.T) {
	c, ds := exporterOf(t, Options{Values: parse(t, nvidiaGroup)}, "exporter-nvidia-a")
	for key, want := range map[string]string{
		"gpu-dra.deckhouse.io/driver": "nvidia", "gpu-dra.deckhouse.io/node-group": "a", "app.kubernetes.io/component": "exporter-nvidia",
	} {
		require.Equal(t, want, ds.Spec.Template.Labels[key])
	}
	require.Equal(t, corev1.ContainerPort{Name: "metrics", ContainerPort: 9400}, c.Ports[0])
	pod := ds.Spec.Template.Spec
	require.Equal(t, []corev1.Toleration{{Key: "nvidia.com/gpu", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}, pod.Tolerations)
	require.False(t, pod.HostNetwork || pod.HostPID || pod.HostIPC)
	require.False(t, *pod.AutomountServiceAccountToken)
	require.Contains(t, mounts(c), "gpu-dra-token")
	require.Contains(t, mounts(pod.InitContainers[0]), "gpu-dra-token")
	require.Equal(t, []corev1.Capability{"ALL"}, c.SecurityContext.Capabilities.Drop)
	require.Empty(t, c.SecurityContext.Capabilities.Add)
	require.Equal(t, "/health", c.StartupProbe.HTTPGet.Path)
	require.GreaterOrEqual(t, c.StartupProbe.FailureThreshold*c.StartupProbe.PeriodSeconds, int32(45), "a slow start is no fault")
	require.Equal(t, []string{
		"get /nodes", "get /pods", "get resource.k8s.io/resourceslices", "list /pods", "list resource.k8s.io/resourceslices",
		"watch /pods", "watch resource.k8s.io/resourceslices",
	}, rules(Find[*rbacv1.ClusterRole](objects(t, Options{Values: parse(t, nvidiaGroup)}), "gpu-dra:exporter-nvidia").Rules))
}

func TestExporterFollowsTheKubelet(t *testing.T) {
	in := strings.Replace(nvidiaGroup, "drivers:", "kubeletRootDir: /data/kubelet, drivers:", 1)
	c, ds := exporterOf(t, Options{Values: parse(t, in)}, "exporter-nvidia-a")
	require.Equal(t, "/data/kubelet/pod-resources", ds.Spec.Template.Spec.Volumes[0].HostPath.Path)
	require.Equal(t, "/var/lib/kubelet/pod-resources", mounts(c)["pod-resources"].MountPath)
}

// The modes, the groups that have none, and exporters that nobody knows.
func TestExporterRunsWhereItMay(t *testing.T) {
	for in, want := range map[string]bool{
		nvidiaGroup:                               true,
		nvidiaGroup + "exporter: {mode: 'Off'}":   false,
		nvidiaGroup + "exporter: {mode: Sidecar}": false,
		strings.Replace(nvidiaGroup, "drivers:", "passthrough: true, drivers:", 1):                 false,
		strings.Replace(nvidiaGroup, "nvidia", "example", 1):                                       false,
		strings.Replace(nvidiaGroup, "nvidia", "intel-gpu", 1):                                     false,
		strings.Replace(nvidiaGroup, "nvidia", "intel-gpu", 1) + "exporter: {adminAccess: Always}": true,
	} {
		found := false
		for id := range byID(t, objects(t, Options{Values: parse(t, in)})) {
			found = found || strings.Contains(id, "DaemonSet") && strings.Contains(id, "exporter-")
		}
		require.Equal(t, want, found, in)
	}
}

func TestExporterAndItsClaim(t *testing.T) {
	claims := func(o Options) []*resourcev1.ResourceClaimTemplate {
		var out []*resourcev1.ResourceClaimTemplate
		for _, object := range objects(t, o) {
			if c, ok := object.(*resourcev1.ResourceClaimTemplate); ok {
				out = append(out, c)
			}
		}
		return out
	}
	plain := Options{Values: parse(t, nvidiaGroup)}
	c, ds := exporterOf(t, plain, "exporter-nvidia-a")
	require.Empty(t, claims(plain), "the API server would refuse the release where the namespace has no label")
	require.Empty(t, ds.Spec.Template.Spec.ResourceClaims)
	require.NotContains(t, env(t, c), "NVIDIA_VISIBLE_DEVICES")

	always := Options{Values: merge(t, nvidiaGroup, "exporter: {adminAccess: Always}")}
	c, ds = exporterOf(t, always, "exporter-nvidia-a")
	require.Equal(t, "void", env(t, c)["NVIDIA_VISIBLE_DEVICES"])
	require.Len(t, claims(always), 1)
	claim := claims(always)[0]
	require.Equal(t, claim.Name, *ds.Spec.Template.Spec.ResourceClaims[0].ResourceClaimTemplateName)
	require.Equal(t, []corev1.ResourceClaim{{Name: "devices"}}, c.Resources.Claims)
	request := claim.Spec.Spec.Devices.Requests[0].Exactly
	require.True(t, *request.AdminAccess)
	require.Equal(t, resourcev1.DeviceAllocationModeAll, request.AllocationMode)
	require.Equal(t, "gpu.nvidia.com", request.DeviceClassName)
	require.Empty(t, request.Tolerations)

	// The spec is immutable: where it differs, so does the name.
	always.KubeVersion = "v1.36.1"
	newer := claims(always)[0]
	require.Equal(t, []resourcev1.DeviceToleration{{Operator: resourcev1.DeviceTolerationOpExists}}, newer.Spec.Spec.Devices.Requests[0].Exactly.Tolerations)
	require.NotEqual(t, claim.Name, newer.Name)

	// So it is where the gate is on before it is so by default: a node with a sick card keeps its exporter.
	gated := Options{Values: merge(t, nvidiaGroup, "{exporter: {adminAccess: Always}, cluster: {featureGates: {DRADeviceTaints: true}}}")}
	require.Equal(t, newer.Spec, claims(gated)[0].Spec)
	for gates, want := range map[string]bool{"DRADeviceTaints": true, "DRAPartitionableDevices": false} {
		internal := values.Internal{Cluster: values.Cluster{Observed: true, KubernetesVersion: "v1.35.1", FeatureGates: values.Gates{On: []string{gates}}}}
		hooked := claims(Options{Values: underHooks(t, parse(t, "nodeGroups: [{name: a, drivers: [nvidia]}]"), internal), KubeVersion: "v1.35.1"})
		require.Equal(t, want, len(hooked[0].Spec.Spec.Devices.Requests[0].Exactly.Tolerations) > 0, gates)
	}

	// Hooks know of every API server: in the middle of an upgrade the one that answered may be newer than the one that Helm asks.
	upgrade := values.Internal{Cluster: values.Cluster{Observed: true, KubernetesVersion: "v1.36.1", FeatureGates: values.Gates{Off: []string{"DRADeviceTaints"}}}}
	between := claims(Options{Values: underHooks(t, parse(t, "nodeGroups: [{name: a, drivers: [nvidia]}]"), upgrade), KubeVersion: "v1.36.1"})
	require.Empty(t, between[0].Spec.Spec.Devices.Requests[0].Exactly.Tolerations)

	// A card with MIG on is published in parts only.
	static := Options{Values: parse(t, strings.Replace(nvidiaGroup, "drivers:", "partitioning: Static, drivers:", 1)+"exporter: {adminAccess: Always}")}
	require.Equal(t, "nvidia-any.gpu-dra.deckhouse.io", claims(static)[0].Spec.Spec.Devices.Requests[0].Exactly.DeviceClassName)

	// Under hooks the namespace is the module's own.
	all := objects(t, hooks(t, "nodeGroups: [{name: a, drivers: [nvidia]}]", values.NodeGroup{}))
	require.Equal(t, "true", Find[*corev1.Namespace](all, "d8-gpu-dra").Labels["resource.kubernetes.io/admin-access"])
}

// Where a claim would take the devices from everybody, or would never be allocated, there is none, and the exporter gets at them
// otherwise.
func TestExporterWithoutAClaimThatWouldNotWork(t *testing.T) {
	const static = "nodeGroups: [{name: a, drivers: [nvidia], partitioning: Static}]\n"
	hooked := func(settings string, internal values.Internal) Options {
		internal.Cluster.Observed, internal.Cluster.KubernetesVersion = true, "v1.35.1"
		return Options{Values: underHooks(t, parse(t, settings), internal), KubeVersion: "v1.35.1"}
	}
	many := values.Internal{NodeGroups: []values.NodeGroup{{Name: "a", ManyDevices: true}}}
	off := values.Internal{Cluster: values.Cluster{FeatureGates: values.Gates{Off: []string{"DRAAdminAccess"}}}}
	const dynamic = "nodeGroups: [{name: a, drivers: [nvidia], partitioning: Dynamic}]\n"
	const always = "exporter: {adminAccess: Always}\n"
	for name, c := range map[string]struct {
		options Options
		claims  bool
	}{
		"parts":                       {hooked(static, values.Internal{}), true},
		"more than a claim holds":     {hooked(static, many), false},
		"they are so by all means":    {hooked(static+always, many), false},
		"gate off":                    {hooked(static, off), false},
		"gate off, as the user says":  {Options{Values: merge(t, nvidiaGroup, always+"cluster: {featureGates: {DRAAdminAccess: false}}")}, false},
		"gate on, as the user says":   {Options{Values: merge(t, nvidiaGroup, always+"cluster: {featureGates: {DRAAdminAccess: true}}")}, true},
		"cut as claims come":          {hooked(dynamic, values.Internal{}), false},
		"cut as claims come, always":  {hooked(dynamic+always, values.Internal{}), true},
		"plain Helm, nothing allowed": {Options{Values: parse(t, nvidiaGroup)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			container, ds := exporterOf(t, c.options, "exporter-nvidia-a")
			require.Equal(t, c.claims, len(ds.Spec.Template.Spec.ResourceClaims) > 0)
			require.Equal(t, c.claims, env(t, container)["NVIDIA_VISIBLE_DEVICES"] == "void")
		})
	}
}

// Taken off a node together with its exporter, a driver is there until the exporter's claim is given back.
func TestDriverOutlivesItsExporter(t *testing.T) {
	for settings, want := range map[string]bool{"{}": false, "exporter: {adminAccess: Always}": true, "exporter: {adminAccess: Always, mode: 'Off'}": false} {
		all := objects(t, Options{Values: merge(t, nvidiaGroup, settings)})
		driver := Find[*appsv1.DaemonSet](all, "driver-nvidia-a").Spec.Template.Spec
		for _, c := range driver.Containers {
			require.Equal(t, want, c.Lifecycle != nil, "%s %s", settings, c.Name)
			if want {
				exporter := Find[*appsv1.DaemonSet](all, "exporter-nvidia-a").Spec.Template.Spec
				require.Greater(t, c.Lifecycle.PreStop.Sleep.Seconds, *exporter.TerminationGracePeriodSeconds)
				require.Less(t, c.Lifecycle.PreStop.Sleep.Seconds, *driver.TerminationGracePeriodSeconds)
			}
		}
	}
}

// The limit follows from the devices of the group's nodes, and the runtime is told of it.
func TestExporterMemoryFollowsTheDevices(t *testing.T) {
	limit := func(o Options, name string) (string, map[string]string) {
		c, _ := exporterOf(t, o, name)
		return c.Resources.Limits.Memory().String(), env(t, c)
	}
	got, vars := limit(Options{Values: parse(t, nvidiaGroup)}, "exporter-nvidia-a")
	require.Equal(t, "1Gi", got, "without facts a node is taken for one of eight")
	require.Equal(t, "966367641", vars["GOMEMLIMIT"])
	require.Equal(t, "1", vars["GOMAXPROCS"])
	got, _ = limit(Options{Values: parse(t, strings.Replace(nvidiaGroup, "drivers:", "expectedDevices: 16, drivers:", 1))}, "exporter-nvidia-a")
	require.Equal(t, "1536Mi", got)
	got, _ = limit(hooks(t, "nodeGroups: [{name: a, drivers: [nvidia]}]", values.NodeGroup{Name: "a", DevicesPerNode: 1}), "exporter-nvidia-a")
	require.Equal(t, "576Mi", got)
	got, vars = limit(Options{Values: merge(t, nvidiaGroup, "drivers: {nvidia: {exporter: {resources: {limits: {memory: 2G, cpu: 1500m}}}}}")}, "exporter-nvidia-a")
	require.Equal(t, "2G", got)
	require.Equal(t, "1800000000", vars["GOMEMLIMIT"])
	require.Equal(t, "2", vars["GOMAXPROCS"])
	_, vars = limit(Options{Values: merge(t, nvidiaGroup, "drivers: {nvidia: {exporter: {resources: {limits: {memory: 10E}}}}}")}, "exporter-nvidia-a")
	require.Equal(t, "8280000000000000000", vars["GOMEMLIMIT"], "more than Kubernetes can count")
	_, vars = limit(Options{Values: merge(t, nvidiaGroup, "drivers: {nvidia: {exporter: {resources: {limits: {memory: 0, cpu: 0}}}}}")}, "exporter-nvidia-a")
	require.NotContains(t, vars, "GOMEMLIMIT", "0 is no limit, and no memory to Go")
	require.NotContains(t, vars, "GOMAXPROCS")
	// A small exporter does not ask for more than it may have.
	small := strings.Replace(nvidiaGroup, "nvidia", "acme", 1) + `customDrivers:
- {name: acme, driverName: acme.example, exporter: {image: {repository: r.example/a, tag: v1}, port: 1, memory: {base: 32Mi, perDevice: 1Mi}, resources: {limits: {cpu: 20m}}}}`
	c, _ := exporterOf(t, Options{Values: parse(t, small)}, "exporter-acme-a")
	require.Equal(t, "40Mi", c.Resources.Limits.Memory().String())
	require.Equal(t, "40Mi", c.Resources.Requests.Memory().String())
	require.Equal(t, "20m", c.Resources.Requests.Cpu().String())
	_, vars = limit(Options{Values: merge(t, nvidiaGroup, "drivers: {nvidia: {exporter: {extraEnv: [{name: GOMEMLIMIT, value: 1GiB}], resources: {limits: {}}}}}")}, "exporter-nvidia-a")
	require.Equal(t, "1GiB", vars["GOMEMLIMIT"])
}

func TestExporterMetrics(t *testing.T) {
	config := func(driver, settings, file string) string {
		in := strings.Replace(nvidiaGroup, "nvidia", driver, 1) + "exporter: {" + settings + "}"
		return Find[*corev1.ConfigMap](objects(t, Options{Values: parse(t, in)}), "exporter-"+driver).Data[file]
	}
	csv := config("nvidia", "", "counters.csv")
	require.Contains(t, csv, "DCGM_FI_DEV_GPU_UTIL,gauge,\"")
	require.NotContains(t, csv, "_PROF_")
	require.Contains(t, config("nvidia", "metrics: Profiling", "counters.csv"), "DCGM_FI_PROF_DRAM_ACTIVE,gauge,\"")
	require.Equal(t, "DCGM_FI_DEV_ECC_SBE_VOL_TOTAL,counter,\"Single-bit memory errors since the driver was loaded.\"\nDCGM_FI_DEV_OF_THE_FUTURE,gauge,\"DCGM_FI_DEV_OF_THE_FUTURE\"\n",
		config("nvidia", "metrics: Custom, customMetrics: [DCGM_FI_DEV_ECC_SBE_VOL_TOTAL, DCGM_FI_DEV_OF_THE_FUTURE, GPU_CLOCK]", "counters.csv"))
	require.Equal(t, csv, config("nvidia", "metrics: Custom, customMetrics: [GPU_CLOCK]", "counters.csv"), "none of its own: as ever")
	require.Contains(t, config("amd", "metrics: Custom, customMetrics: [GPU_CLOCK]", "config.json"), `"Fields": ["GPU_CLOCK"]`)
	require.Contains(t, config("amd", "metrics: Profiling", "config.json"), `"ProfilerMetrics": {"all": true}`)
	require.Contains(t, config("intel-gpu", "adminAccess: Always, interval: 45s", "config.yaml"), "collection_interval: 45s")

	for settings, want := range map[string]bool{
		"": false, "metrics: Profiling": true, "metrics: Custom, customMetrics: [DCGM_FI_PROF_SM_ACTIVE]": true, "metrics: Custom, customMetrics: [DCGM_FI_DEV_GPU_UTIL]": false,
	} {
		c, _ := exporterOf(t, Options{Values: parse(t, nvidiaGroup+"exporter: {"+settings+"}")}, "exporter-nvidia-a")
		require.Equal(t, want, len(c.SecurityContext.Capabilities.Add) > 0, settings)
	}
	for interval, want := range map[string]string{"30s": "30000", "500ms": "500", "2m": "120000"} {
		c, _ := exporterOf(t, Options{Values: parse(t, nvidiaGroup+"exporter: {interval: "+interval+"}")}, "exporter-nvidia-a")
		require.Equal(t, want, env(t, c)["DCGM_EXPORTER_INTERVAL"])
	}
}

func TestExporterImagesTooOldForDRA(t *testing.T) {
	image := func(tag string) string {
		return "drivers: {nvidia: {exporter: {image: {tag: " + tag + "}}}}\n" + nvidiaGroup
	}
	refused(t, map[string][]string{
		image("4.5.3-4.8.2"): {`- drivers.nvidia.exporter.image.tag: found "4.5.3-4.8.2", expected version 4.8.3 or newer`},
		image("4.8.4"):       {},
		image("latest"):      {},
		"nodeGroups: [{name: a, drivers: [nvidia], nodeSelector: {a: b}, driverOverrides: {nvidia: {exporter: {image: {tag: v4.08.2}}}}}]": {
			`- nodeGroups[0].driverOverrides.nvidia.exporter.image.tag: found "v4.08.2"`,
		},
	})
}

// Every exporter that the chart carries makes a pod that a kubelet can start.
func TestEveryExporterMakesAPod(t *testing.T) {
	for _, name := range []string{"nvidia", "amd", "intel-gpu", "ascend", "hygon"} {
		for _, metrics := range []string{"Default", "Profiling"} {
			in := strings.Replace(nvidiaGroup, "nvidia", name, 1) + "exporter: {adminAccess: Always, metrics: " + metrics + "}"
			c, ds := exporterOf(t, Options{Values: parse(t, in)}, "exporter-"+name+"-a")
			known := map[string]bool{}
			for _, v := range ds.Spec.Template.Spec.Volumes {
				known[v.Name] = true
			}
			for _, m := range append(c.VolumeMounts, ds.Spec.Template.Spec.InitContainers[0].VolumeMounts...) {
				require.True(t, known[m.Name], "%s: %s", name, m.Name)
			}
			for _, text := range append(c.Args, c.Command...) {
				require.NotRegexp(t, `\{[a-zA-Z]+\}`, text, name)
			}
			for key, value := range env(t, c) {
				require.NotRegexp(t, `\{[a-zA-Z]+\}`, value, "%s: %s", name, key)
			}
			require.False(t, c.Resources.Limits.Memory().IsZero(), name)
		}
	}
}

// What the schema itself can say of an exporter of the user's own.
func TestSchemaOfOwnExporters(t *testing.T) {
	own := func(more string) Options {
		return Options{Values: parse(t, "customDrivers: [{name: acme, driverName: npu.acme.example, exporter: {image: {repository: r.example/a, tag: v1.0.0}, port: 9000, command: [/a], "+more+"}}]")}
	}
	for more, path := range map[string]string{
		"path: //metrics":         "/exporter/path",
		"path: /a//b":             "/exporter/path",
		"path: /./m":              "/exporter/path",
		"health: {path: /a/../b}": "/exporter/health/path",
		"runAsUser: 2147483648":   "/exporter/runAsUser",
		"capabilities: [{name: CAP_SYS_ADMIN, reason: x}]":                                      "/exporter/capabilities/0/name",
		"mounts: [{name: x, hostPath: /a/../../etc}]":                                           "/exporter/mounts/0/hostPath",
		"mounts: [{name: x, hostPath: '{kubeletRoot}..'}]":                                      "/exporter/mounts/0/hostPath",
		"mounts: [{name: x, hostPath: /a, path: /b/..}]":                                        "/exporter/mounts/0/path",
		"waitFor: [{what: x, hostPath: /a, anyOf: [../b]}]":                                     "/exporter/waitFor/0/anyOf/0",
		"config: {path: /a/../b, files: {c: d}}":                                                "/exporter/config/path",
		"env: [{name: A, field: spec.containers}]":                                              "/exporter/env/0/field",
		"sidecar: {env: [{name: A, field: spec.volumes}]}":                                      "/exporter/sidecar/env/0/field",
		"sidecar: {env: [{name: A, value: b, when: {since: '1.0'}}]}":                           "/exporter/sidecar/env/0",
		"metricNames: {labels: {accelerator: a}, series: {power: [{metrics: [p], factor: 0}]}}": "/exporter/metricNames/series/power/0/factor",
		"metricNames: {labels: {accelerator: a}, renamed: [{was: a, now: b, factor: 0}]}":       "/exporter/metricNames/renamed/0/factor",
	} {
		require.Contains(t, refusal(t, own(more)), "/customDrivers/0"+path, more)
	}
	for _, more := range []string{
		"path: /", "path: ''", "path: /metrics/", "runAsUser: 2147483647", "mounts: [{name: x, hostPath: '/a/..b/c..'}, {name: z, hostPath: '{kubeletRoot}', path: '{driverRoot}/x'}]",
		"env: [{name: A, field: status.podIPs}]", "metricNames: {labels: {accelerator: a}, renamed: [{was: a, now: b, factor: 0.0000001}]}",
	} {
		require.Empty(t, refusal(t, own(more)), more)
	}
	require.Contains(t, refusal(t, Options{Values: merge(t, nvidiaGroup, "drivers: {nvidia: {exporter: {runtimeClassName: a..b}}}")}), "/drivers/nvidia/exporter/runtimeClassName")
}
