package profile

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func plugins(t *testing.T) []Driver {
	t.Helper()
	drivers := builtin(t)
	for _, d := range drivers {
		require.NotNil(t, d.Plugin, "%s is run by the chart", d.Name)
	}
	return drivers
}

func envOf(c Container, name string) (Env, bool) {
	i := slices.IndexFunc(c.Env, func(e Env) bool { return e.Name == name })
	if i < 0 {
		return Env{}, false
	}
	return c.Env[i], true
}

// A plugin tells the kubelet the path that it sees itself, and its CDI files are read by the runtime of the host.
func TestPluginsSeeTheHostsFoldersWhereTheyAre(t *testing.T) {
	for _, d := range plugins(t) {
		for _, c := range d.Plugin.Containers {
			at := d.Name + "/" + c.Name
			for _, want := range []string{"{kubeletRoot}/plugins_registry", "{kubeletRoot}/plugins", "{cdiRoot}"} {
				i := slices.IndexFunc(c.Mounts, func(m Mount) bool { return m.HostPath == want })
				require.GreaterOrEqual(t, i, 0, "%s does not mount %s", at, want)
				require.Empty(t, c.Mounts[i].Path, "%s: %s is elsewhere in the container", at, want)
				require.False(t, c.Mounts[i].ReadOnly, at)
				require.Nil(t, c.Mounts[i].When, at)
			}
			cdi, ok := envOf(c, "CDI_ROOT")
			require.True(t, ok, "%s would write CDI files where its code says", at)
			require.Equal(t, "{cdiRoot}", cdi.Value, at)
			node, ok := envOf(c, "NODE_NAME")
			require.True(t, ok, at)
			require.Equal(t, "spec.nodeName", node.Field, at)
			for name, want := range map[string]string{
				"KUBELET_REGISTRAR_DIRECTORY_PATH": "{kubeletRoot}/plugins_registry",
				"KUBELET_PLUGINS_DIRECTORY_PATH":   "{kubeletRoot}/plugins",
			} {
				e, ok := envOf(c, name)
				require.Equal(t, d.Plugin.KubeletRoot == "", ok, "%s: %s where the folders can be moved, and only there", at, name)
				require.True(t, strings.HasPrefix(e.Value, want) || !ok, "%s: %s=%s", at, name, e.Value)
			}
		}
	}
}

// HYGON-AI/k8s-hcu-dra-driver v1.0.0 cmd/hcu-dra-driver/main.go gives this folder to the kubelet library as the plugin's own:
// dra.sock would lie in the folder that all drivers share.
func TestHygonHasAFolderOfItsOwn(t *testing.T) {
	for _, d := range plugins(t) {
		if d.Name != "hygon" {
			continue
		}
		e, _ := envOf(d.Plugin.Containers[0], "KUBELET_PLUGINS_DIRECTORY_PATH")
		require.Equal(t, "{kubeletRoot}/plugins/"+d.DriverName, e.Value)
	}
}

// The kubelet asks the port that the plugin was told.
func TestPortsAreTheOnesThatPluginsListenOn(t *testing.T) {
	for _, d := range plugins(t) {
		for _, c := range d.Plugin.Containers {
			at := d.Name + "/" + c.Name
			port := ""
			if e, ok := envOf(c, "HEALTHCHECK_PORT"); ok {
				port = e.Value
			}
			for _, a := range c.Args {
				if v, ok := strings.CutPrefix(a, "--healthcheck-port="); ok {
					port = v
				}
			}
			if c.HealthPort == 0 {
				require.Empty(t, port, "%s listens and nobody asks", at)
			} else {
				require.Equal(t, strconv.Itoa(int(c.HealthPort)), port, at)
			}
			metrics, ok := envOf(c, "HTTP_ENDPOINT")
			require.Equal(t, ok, c.MetricsPort != 0, at)
			if ok {
				require.Equal(t, ":"+strconv.Itoa(int(c.MetricsPort)), metrics.Value, at)
			}
		}
	}
}

func TestPluginsOfTheChartAreTheOnesThatAreCounted(t *testing.T) {
	for _, d := range plugins(t) {
		require.Equal(t, map[string]string{"app.kubernetes.io/component": "driver-" + d.Name}, d.PodLabels())
	}
}

// What a driver's gates do is asked of the driver: a profile that knows some passes all of them on. The others take none, and the
// settings may not have any.
func TestGatesReachThePlugin(t *testing.T) {
	for _, d := range plugins(t) {
		require.Equal(t, len(d.Gates) > 0, d.Plugin.TakesGate("Any"), d.Name)
		if len(d.Gates) == 0 {
			continue
		}
		for _, c := range d.Plugin.Containers {
			e, ok := envOf(c, "FEATURE_GATES")
			require.True(t, ok, d.Name)
			require.Equal(t, "{featureGates}", e.Value)
		}
	}
}

// A level of the log reaches every container, or the settings may not have one: rebellions has no flag for it, and hygon's plugin checks
// what it is told (HYGON-AI/k8s-hcu-dra-driver v1.0.0).
func TestLogLevelsReachThePlugin(t *testing.T) {
	for _, d := range plugins(t) {
		require.Equal(t, d.Name != "rebellions", d.Plugin.TakesLogLevel(), d.Name)
		for _, c := range d.Plugin.Containers {
			alone := &Plugin{Containers: []Container{c}}
			require.Equal(t, d.Plugin.TakesLogLevel(), alone.TakesLogLevel(), "%s/%s", d.Name, c.Name)
		}
		var want *LogLevels
		if d.Name == "hygon" {
			want = &LogLevels{Min: 1, Max: 5}
		}
		require.Equal(t, want, d.Plugin.LogLevels, d.Name)
	}
}

// A part that is there with a gate takes that gate, whatever the plugin is told.
func TestTakesGate(t *testing.T) {
	p := &Plugin{Containers: []Container{{Name: "a", Env: []Env{{Name: "A", Value: "1", When: &When{Gate: "Env"}}}}},
		Rules: []Rule{{When: &When{Gate: "Rule"}}}, NamespaceRules: []Rule{{When: &When{Since: "1.0"}}}}
	for gate, want := range map[string]bool{"Env": true, "Rule": true, "Other": false} {
		require.Equal(t, want, p.TakesGate(gate), gate)
	}
	p.Containers[0].Env[0].Value = "--gates={featureGates}"
	require.True(t, p.TakesGate("Other"))
}

// Which drivers are privileged, and which are experimental, is decided here and not by the way.
func TestPrivilegesAndDoubts(t *testing.T) {
	privileged := map[string]bool{
		"nvidia/gpus": true, "nvidia/compute-domains": true, "amd/plugin": true, "intel-gaudi/plugin": true,
		"ascend/plugin": true, "hygon/plugin": true, "rebellions/plugin": true,
		"intel-gpu/plugin": false, "example/plugin": false,
	}
	experimental := map[string]bool{"ascend": true, "hygon": true, "rebellions": true}
	for _, d := range plugins(t) {
		require.Equal(t, experimental[d.Name], len(d.Plugin.Unverified) > 0, d.Name)
		for _, c := range d.Plugin.Containers {
			want, known := privileged[d.Name+"/"+c.Name]
			require.True(t, known, "%s/%s", d.Name, c.Name)
			require.Equal(t, want, c.Privileged != "", "%s/%s", d.Name, c.Name)
		}
	}
}

// NVIDIA's gates as pkg/featuregates/featuregates.go and docs of kubernetes-sigs/dra-driver-nvidia-gpu v0.5.0 have them.
func TestNvidiaGates(t *testing.T) {
	for _, d := range plugins(t) {
		if d.Name != "nvidia" {
			continue
		}
		g := newGateGraph(d.Gates)
		for _, p := range [][2]string{
			{"DynamicMIG", "PassthroughSupport"}, {"DynamicMIG", "MPSSupport"}, {"DynamicMIG", "NVMLDeviceHealthCheck"},
			{"PassthroughSupport", "NVMLDeviceHealthCheck"}, {"MPSSupport", "NVMLDeviceHealthCheck"}, {"MPSSupport", "ConsumableShares"},
		} {
			require.True(t, g.excludes[pair(p[0], p[1])], "%v", p)
		}
		require.Len(t, g.excludes, 6)
		require.Equal(t, []string{"DeviceMetadata", "PassthroughSupport"}, g.closure("DeviceMetadata"))
		defaults := []string{"ComputeDomainCliques", "CrashOnNVLinkFabricErrors", "IMEXDaemonsWithDNSNames"}
		require.Equal(t, defaults, g.switchedOn("", false))
		require.Equal(t, append(slices.Clone(defaults[:2]), "DynamicMIG", defaults[2]), g.switchedOn("Dynamic", false))
		require.Equal(t, append(slices.Clone(defaults), "PassthroughSupport"), g.switchedOn("", true))
	}
}
