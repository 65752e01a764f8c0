package charttest

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-dra/gpu-dra/internal/values"
)

// Whatever a user writes stays text where it was written: no key, no object, no other value changes.
func TestHostileTextOfDriversStaysText(t *testing.T) {
	t.Parallel()
	chart, err := Load()
	require.NoError(t, err)
	want := byID(t, objects(t, Options{Values: parse(t, npuGroup+"drivers: {npu: {extraEnv: [{name: X, value: plain}]}}")}))
	for _, s := range hostile {
		v := merge(t, npuGroup, "drivers: {npu: {extraEnv: [{name: X}]}}")
		v["drivers"].(map[string]any)["npu"].(map[string]any)["extraEnv"].([]any)[0].(map[string]any)["value"] = s
		plugin := v["customDrivers"].([]any)[0].(map[string]any)["plugin"].(map[string]any)
		container := plugin["containers"].([]any)[0].(map[string]any)
		// With something around it the schema has less to say about it.
		container["args"] = []any{"a" + s + "z"}
		container["command"] = []any{"a" + s + "z"}
		container["privileged"] = "a" + s + "z"
		container["writableRoot"] = "a" + s + "z"
		container["env"] = []any{map[string]any{"name": "POD_UID", "field": "metadata.uid"}, map[string]any{"name": "Y", "value": "a" + s + "z"}}
		plugin["waitFor"] = []any{map[string]any{"what": "a" + s + "z", "hostPath": "/dev", "anyOf": []any{"x"}}}
		plugin["unverified"] = []any{"a" + s + "z"}
		documents, _, err := Render(chart, Options{Values: v})
		if err != nil {
			require.Contains(t, err.Error(), "values don't meet the specifications of the schema", "%q", s)
			continue
		}
		all, err := Decode(documents)
		require.NoError(t, err, "%q", s)
		got := byID(t, all)
		require.Len(t, got, len(want), "%q", s)
		for id := range want {
			require.Contains(t, got, id)
		}
		pod := Find[*appsv1.DaemonSet](all, "driver-npu-a").Spec.Template.Spec
		c := pod.Containers[0]
		require.Equal(t, []string{"a" + s + "z"}, c.Args)
		require.Equal(t, []string{"a" + s + "z"}, c.Command)
		require.Equal(t, map[string]string{"POD_UID": "field metadata.uid", "X": s, "Y": "a" + s + "z"}, env(t, c))
		require.Contains(t, pod.InitContainers[0].Args, "--wait-for=a"+s+"z=/host/dev/x")
	}
}

// Names of gates have no pattern of their own.
func TestHostileNamesOfGatesStayText(t *testing.T) {
	t.Parallel()
	chart, err := Load()
	require.NoError(t, err)
	for _, s := range hostile {
		v := oneDriver(t)
		v["nodeGroups"].([]any)[0].(map[string]any)["driverOverrides"] = map[string]any{"x": map[string]any{"featureGates": map[string]any{s: true}}}
		documents, _, err := Render(chart, Options{Values: v})
		require.NoError(t, err, "%q", s)
		all, err := Decode(documents)
		require.NoError(t, err, "%q", s)
		require.Equal(t, []string{s + "=true"}, Find[*appsv1.DaemonSet](all, "driver-x-a").Spec.Template.Spec.Containers[0].Args)
	}
}

// Keys of taints are refused where the API server would refuse them, and stay text elsewhere.
func TestHostileKeysOfTaints(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	for _, s := range hostile {
		v, key := oneDriver(t), cut(s, 63)
		v["nodeGroups"].([]any)[0].(map[string]any)["tolerations"] = []any{map[string]any{"key": key, "operator": "Exists"}}
		documents, _, err := Render(chart, Options{Values: v})
		if len(validation.IsQualifiedName(key)) > 0 {
			require.ErrorContains(t, err, "/nodeGroups/0/tolerations/0/key", "%q", s)
			continue
		}
		require.NoError(t, err, "%q", s)
		all, err := Decode(documents)
		require.NoError(t, err, "%q", s)
		require.Equal(t, key, Find[*appsv1.DaemonSet](all, "driver-x-a").Spec.Template.Spec.Tolerations[0].Key)
	}
}

// oneDriver are settings with one driver of the user's own on the group a.
func oneDriver(t *testing.T) map[string]any {
	return parse(t, "customDrivers: [{name: x, driverName: x.example, plugin: {image: {repository: r.example/x, tag: v1}, containers: [{name: x, args: ['{featureGates}']}]}}]\n"+
		"nodeGroups: [{name: a, drivers: [x], nodeSelector: {a: b}}]")
}

// VPA where Deckhouse has it and the settings say nothing of resources.
func TestVPAOfDrivers(t *testing.T) {
	vpa := func(in string, apis ...string) map[string]any {
		o := hooks(t, npu+"nodeGroups: [{name: a, drivers: [npu]}]\n"+in, values.NodeGroup{})
		o.APIVersions = apis
		for id, object := range byID(t, objects(t, o)) {
			if strings.Contains(id, "driver-npu-a") && strings.Contains(object, "VerticalPodAutoscaler") {
				out := map[string]any{}
				require.NoError(t, json.Unmarshal([]byte(object), &out))
				return out["spec"].(map[string]any)
			}
		}
		return nil
	}
	const served = "autoscaling.k8s.io/v1/VerticalPodAutoscaler"
	got := vpa("drivers: {npu: {computeDomains: true}}", served)
	require.Equal(t, map[string]any{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "driver-npu-a"}, got["targetRef"])
	require.Len(t, got["resourcePolicy"].(map[string]any)["containerPolicies"], 2)
	require.Nil(t, vpa(""))
	require.Nil(t, vpa("drivers: {npu: {resources: {limits: {memory: 1Gi}}}}", served))
}

// Deckhouse prepares the nodes whose containerd has CDI switched off.
func TestNodesAreToldToSwitchCDIOn(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	rendered := func(in string, a values.NodeGroup) []map[string]any {
		documents, _, err := Render(chart, hooks(t, in, a))
		require.NoError(t, err)
		var out []map[string]any
		for _, d := range documents {
			if o := parse(t, d); o["kind"] == "NodeGroupConfiguration" {
				out = append(out, o)
			}
		}
		return out
	}
	const active = npu + "nodeGroups: [{name: a, drivers: [npu, example]}]"
	off := values.NodeGroup{Found: true, CDIOff: true}
	got := rendered(active, off)
	require.Len(t, got, 1, "one a group")
	spec := got[0]["spec"].(map[string]any)
	require.Equal(t, []any{"a"}, spec["nodeGroups"])
	require.Less(t, spec["weight"], 32.0, "before bashible puts the configuration of containerd together")
	require.Contains(t, spec["content"], "enable_cdi = true")
	require.NotContains(t, spec["content"], "{{", "bashible takes it for a template")

	require.Empty(t, rendered(active, values.NodeGroup{Found: true}))
	require.Empty(t, rendered(active, values.NodeGroup{CDIOff: true}), "no NodeGroup of that name")
	require.Empty(t, rendered(npu+"nodeGroups: [{name: a, drivers: [npu], passive: true}]", off))
	require.Empty(t, rendered(acme+"nodeGroups: [{name: a, drivers: [acme]}]", off), "nothing of ours runs there")
}

func TestNotesOfDrivers(t *testing.T) {
	chart, err := Load()
	require.NoError(t, err)
	in := npu + "nodeGroups: [{name: a, drivers: [npu], nodeSelector: {a: b}}, {name: b, drivers: [npu, example], nodeSelector: {a: c}, passive: true}]"
	_, notes, err := Render(chart, Options{Values: parse(t, in)})
	require.NoError(t, err)
	require.Contains(t, notes, "npu: a, b (passive)\n")
	require.Contains(t, notes, "example: b (passive)\n")
	require.Contains(t, notes, "kubectl label nodes -l SELECTOR gpu-dra.deckhouse.io/passive=true")
	require.Contains(t, notes, "kubectl label namespace gpu-dra-system pod-security.kubernetes.io/enforce=privileged")
	require.NotContains(t, notes, "experimental")

	v := parse(t, npuGroup)
	v["customDrivers"].([]any)[0].(map[string]any)["plugin"].(map[string]any)["unverified"] = []any{"whether it works\n"}
	_, notes, err = Render(chart, Options{Values: v})
	require.NoError(t, err)
	require.Contains(t, notes, "The driver npu is experimental. Nobody has verified:\n\n  * whether it works\n")
	require.NotContains(t, notes, "passive=false")

	_, notes, err = Render(chart, Options{})
	require.NoError(t, err)
	require.NotContains(t, notes, "pod-security", "nothing needs it")

	const exporter = "customDrivers: [{name: x, driverName: x.example, exporter: {image: {repository: r.example/x, tag: v1}, port: 9000}}]\n" +
		"nodeGroups: [{name: a, drivers: [x], nodeSelector: {a: b}}]\n"
	_, notes, err = Render(chart, Options{Values: parse(t, exporter)})
	require.NoError(t, err)
	require.Contains(t, notes, "kubectl label namespace gpu-dra-system pod-security.kubernetes.io/enforce=privileged", "an exporter needs it, too")
	_, notes, err = Render(chart, Options{Values: parse(t, exporter+"exporter: {mode: 'Off'}")})
	require.NoError(t, err)
	require.NotContains(t, notes, "pod-security")
}
