package featuregate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

func needed(gates ...string) []Need {
	var out []Need
	for _, g := range gates {
		out = append(out, Need{Gate: g, By: []string{"test"}})
	}
	return out
}

// told is a step in one line, without its reason.
func told(s Step) string {
	out := fmt.Sprintf("%s %s %s %s", s.Component, strings.Join(s.Instances, ","), s.State, s.Do)
	if s.Nodes > 0 {
		out = fmt.Sprintf("%s x%d %s %s", s.Component, s.Nodes, s.State, s.Do)
	}
	if len(s.Also) > 0 {
		out += " also " + strings.Join(s.Also, " ")
	}
	if len(s.APIs) > 0 {
		out += " serve " + strings.Join(s.APIs, " ")
	}
	return strings.TrimSpace(out)
}

func TestPlan(t *testing.T) {
	kubelets := func(version string) []v1alpha1.VersionCount {
		return []v1alpha1.VersionCount{{Version: version, Count: 3}}
	}
	for name, tc := range map[string]struct {
		gate      string
		instances []Instance
		kubelets  []v1alpha1.VersionCount
		want      []string
		why       string // part of the first step's
	}{
		"off by default": {gate: PartitionableDevices, instances: plane("v1.34.4"), want: []string{"kube-apiserver a False SetGate", "kube-scheduler a False SetGate"}, why: "off by default in 1.34"},
		"on by default":  {gate: PartitionableDevices, instances: plane("v1.36.3"), want: []string{"kube-apiserver a True", "kube-scheduler a True"}},
		"set to false":   {gate: "DRAConsumableCapacity", instances: plane("v1.36.3", "--feature-gates=DRAConsumableCapacity=false"), want: []string{"kube-apiserver a False SetGate", "kube-scheduler a False SetGate"}, why: "set by its flags"},
		"one of two":     {gate: "DRASchedulerFilterTimeout", instances: []Instance{running("kube-scheduler/b@v1.34.4", "--feature-gates=DRASchedulerFilterTimeout=false"), running("kube-scheduler/a@v1.34.4")}, want: []string{"kube-scheduler a True", "kube-scheduler b False SetGate"}},
		"alike":          {gate: "DRASchedulerFilterTimeout", instances: []Instance{running("kube-scheduler/b@v1.34.4"), running("kube-scheduler/a@v1.34.4")}, want: []string{"kube-scheduler a,b True"}},
		"an upgrade on its way": {gate: ExtendedResource, instances: []Instance{running("kube-apiserver/a@v1.36.3"), running("kube-apiserver/b@v1.35.4"), running("kube-scheduler/a@v1.35.4")},
			kubelets: append(kubelets("v1.33.5"), v1alpha1.VersionCount{Version: "v1.35.4", Count: 1}),
			want:     []string{"kube-apiserver b False SetGate", "kube-apiserver a True", "kube-scheduler a False SetGate", "kubelet x3 False UpgradeKubernetes", "kubelet x1 Unknown SetGate"}},
		"not there yet":  {gate: "DRAListTypeAttributes", instances: plane("v1.34.4"), want: []string{"kube-apiserver a False UpgradeKubernetes", "kube-scheduler a False UpgradeKubernetes"}, why: "1.36 is the first that has it"},
		"gone":           {gate: "GangScheduling", instances: plane("v1.37.2"), want: []string{"kube-scheduler a False NotPossible"}, why: "removed in 1.37"},
		"gone and on":    {gate: "SidecarContainers", instances: plane("v1.37.2")[:1], want: []string{"kube-apiserver a True"}},
		"lock broken":    {gate: "DRAAdminAccess", instances: plane("v1.36.3", "--feature-gates=DRAAdminAccess=false")[:1], want: []string{"kube-apiserver a False RemoveGate"}, why: "locked to true since 1.36"},
		"dependency off": {gate: "DRADeviceTaintRules", instances: plane("v1.35.4")[2:], want: []string{"kube-scheduler a False SetGate also DRADeviceTaints"}},
		"dependencies of dependencies": {gate: "DRAPartitionableDevicesType", instances: plane("v1.37.2", "--feature-gates=DRAPartitionableDevices=false")[:1],
			want: []string{"kube-apiserver a False SetGate also DRAPartitionableDevices DRAResourcePoolStatus"}},
		"dependency of 1.33, where nothing checks it": {gate: "DRADeviceTaints", instances: plane("v1.33.2")[2:], want: []string{"kube-scheduler a False SetGate also DynamicResourceAllocation"}},
		"dependency lost": {gate: "DRAOptionalNodeOperations", instances: plane("v1.37.2", "--feature-gates=NodeDeclaredFeatures=false")[2:], want: []string{"kube-scheduler a False NotPossible"}, why: "NodeDeclaredFeatures, which it depends on, is off and cannot be set"},
		"with its API": {gate: "DRADeviceTaintRules", instances: plane("v1.36.3"), want: []string{"kube-apiserver a False SetGate serve resource.k8s.io/v1beta2",
			"kube-controller-manager a False SetGate", "kube-scheduler a False SetGate"}},
		"without its API":       {gate: "DRADeviceTaints", instances: plane("v1.34.4", "--feature-gates=DRADeviceTaints=true")[:1], want: []string{"kube-apiserver a True ServeAPI serve resource.k8s.io/v1alpha3"}},
		"API is there":          {gate: "DRADeviceTaints", instances: plane("v1.34.4", "--feature-gates=DRADeviceTaints=true", "--runtime-config=api/alpha=true")[:1], want: []string{"kube-apiserver a True"}},
		"its resource is there": {gate: "DRADeviceTaintRules", instances: plane("v1.36.3", "--feature-gates=DRADeviceTaintRules=true", "--runtime-config=resource.k8s.io/v1beta2/devicetaintrules=true")[:1], want: []string{"kube-apiserver a True"}},
		"its resource is off": {gate: "DRADeviceTaintRules", instances: plane("v1.36.3", "--feature-gates=DRADeviceTaintRules=true", "--runtime-config=resource.k8s.io/v1beta2=true,resource.k8s.io/v1beta2/devicetaintrules=false")[:1],
			want: []string{"kube-apiserver a True ServeAPI serve resource.k8s.io/v1beta2/devicetaintrules"}},
		"one of its resources": {gate: "GenericWorkload", instances: plane("v1.36.3", "--feature-gates=GenericWorkload=true", "--runtime-config=scheduling.k8s.io/v1alpha2/workloads=true")[:1],
			want: []string{"kube-apiserver a True ServeAPI serve scheduling.k8s.io/v1alpha2"}},
		"GA needs no API":        {gate: "DRADeviceTaintRules", instances: plane("v1.37.2")[:1], want: []string{"kube-apiserver a True"}},
		"unreadable":             {gate: PartitionableDevices, instances: []Instance{running("kube-scheduler/a@v1.34.4", "$(ARGS)")}, want: []string{"kube-scheduler a Unknown Look"}},
		"version unread":         {gate: PartitionableDevices, instances: []Instance{running("kube-scheduler/a")}, want: []string{"kube-scheduler a Unknown Look"}},
		"emulated":               {gate: "DRAListTypeAttributes", instances: plane("v1.36.3", "--emulated-version=1.35")[2:], want: []string{"kube-scheduler a False NotPossible"}, why: "--emulated-version=1.35"},
		"too new":                {gate: PartitionableDevices, instances: plane("v1.38.0")[2:], want: []string{"kube-scheduler a Unknown Look"}},
		"kubelets not read":      {gate: "KubeletPodResourcesDynamicResources", kubelets: kubelets("v1.33.1"), want: []string{"kubelet x3 Unknown SetGate"}, why: "can't be seen"},
		"kubelets of no version": {gate: "KubeletPodResourcesDynamicResources", kubelets: kubelets("fake"), want: []string{"kubelet x3 Unknown Look"}},
		"no such gate":           {gate: "DRAExtendedResources", instances: plane("v1.34.4")},
	} {
		t.Run(name, func(t *testing.T) {
			steps := stepsOf(tc.gate, tc.instances, Kubelets{Versions: tc.kubelets})
			// What it depends on is TestPlanOfDependencies'.
			require.Equal(t, steps, slices.DeleteFunc(Plan(needed(tc.gate), tc.instances, Kubelets{Versions: tc.kubelets}), func(s Step) bool { return s.Gate != tc.gate }))
			var got []string
			for _, s := range steps {
				require.Equal(t, tc.gate, s.Gate)
				// Components of which none is given here are the next test's.
				if len(s.Instances) > 0 || s.Nodes > 0 {
					got = append(got, told(s))
				}
			}
			require.Equal(t, tc.want, got)
			if tc.why != "" {
				at := slices.IndexFunc(steps, func(s Step) bool { return strings.Contains(s.Why, tc.why) })
				require.GreaterOrEqual(t, at, 0, "%+v", steps)
				require.Equal(t, got[0], told(steps[at]))
			}
		})
	}
}

func TestPlanSaysWhatIsNotSeen(t *testing.T) {
	var got []string
	for _, s := range Plan(needed(ExtendedResource), plane("v1.36.3")[:1], Kubelets{}) {
		got = append(got, fmt.Sprintf("%s %s %s: %s", s.Component, s.State, s.Do, s.Why))
	}
	require.Equal(t, []string{"kube-apiserver True : on by default in 1.36", "kube-scheduler Unknown Look: no kube-scheduler was seen",
		"kubelet Unknown Look: no kubelet of a listed node group was seen"}, got)
}

func TestPlanOfKubeletsThatWereRead(t *testing.T) {
	k := Kubelets{Versions: []v1alpha1.VersionCount{{Version: "v1.35.4", Count: 4}}}
	instances := append(plane("v1.36.3"), kubelet("c@v1.35.4", ExtendedResource, true), kubelet("b@v1.35.4", "MemoryManager", true), kubelet("a@v1.35.4", "MemoryManager", true))
	var got []string
	for _, s := range Plan(needed(ExtendedResource), instances, k) {
		if s.Component == Kubelet {
			got = append(got, fmt.Sprintf("%s %s: %s", strings.Join(s.Instances, ","), told(s), s.Why))
		}
	}
	require.Equal(t, []string{
		" kubelet x1 Unknown SetGate: off by default in 1.35, and its own configuration can't be seen",
		"a,b kubelet x2 False SetGate: off by default in 1.35",
		"c kubelet x1 True: set by its configuration",
	}, got)
}

func TestConfigz(t *testing.T) {
	got, err := FromConfigz("n", "v1.34.4", []byte(`{"kubeletconfig":{"port":10250,"featureGates":{"DRAExtendedResource":true,"Foo":false}}}`))
	require.NoError(t, err)
	require.Equal(t, Instance{Component: Kubelet, Name: "n", Version: "v1.34.4", Flags: Flags{Set: map[string]bool{ExtendedResource: true, "Foo": false}}}, got)
	none, err := FromConfigz("n", "v1.34.4", []byte(`{"kubeletconfig":{}}`))
	require.NoError(t, err)
	require.Empty(t, none.Set)
	for text, want := range map[string]string{
		"<html>":        "is no configuration of a kubelet",
		"{}":            "found no kubeletconfig",
		`{"other": {}}`: "found no kubeletconfig",
		`{"kubeletconfig":{"featureGates":["A"]}}`: "is no configuration of a kubelet",
	} {
		_, err := FromConfigz("n", "v1.34.4", []byte(text))
		require.ErrorContains(t, err, want)
	}
}

func TestPlanAsksNothingForWhatIsOnlyWatched(t *testing.T) {
	for _, s := range Plan([]Need{{Gate: "DRADeviceTaintRules"}}, plane("v1.35.4"), Kubelets{}) {
		require.Equal(t, metav1.ConditionFalse, s.State)
		require.Equal(t, Nothing, s.Do)
		require.Empty(t, s.Also)
		require.Empty(t, s.APIs)
	}
}

// The claims of well-read articles that are wrong, asked of the plan as users would.
func TestPlanKnowsBetter(t *testing.T) {
	do := func(gate, version string) Todo {
		t.Helper()
		steps := Plan(needed(gate), plane(version)[:1], Kubelets{})
		require.Equal(t, APIServer, steps[0].Component)
		return steps[0].Do
	}
	// "DRA is generally available in 1.32": it is off there, and needs an API version besides the gate.
	require.Equal(t, SetGate, do(DynamicResourceAllocation, "v1.32.13"))
	require.Equal(t, []string{"resource.k8s.io/v1beta1"}, Plan(needed(DynamicResourceAllocation), plane("v1.33.13")[:1], Kubelets{})[0].APIs)
	require.Equal(t, Nothing, do(DynamicResourceAllocation, "v1.34.4"))
	// "Partitions work in 1.34": they have to be switched on up to 1.35.
	require.Equal(t, UpgradeKubernetes, do(PartitionableDevices, "v1.32.13"))
	require.Equal(t, SetGate, do(PartitionableDevices, "v1.34.4"))
	require.Equal(t, SetGate, do(PartitionableDevices, "v1.35.4"))
	require.Equal(t, Nothing, do(PartitionableDevices, "v1.36.3"))
	// "SidecarContainers graduated in 1.34": in 1.33, and 1.37 does not start with it.
	require.Equal(t, Stage{Present: true, Name: "GA", On: true, Locked: true}, At("SidecarContainers", 33))
	require.Equal(t, "beta", At("SidecarContainers", 32).Name)
	require.Len(t, Conflicts([]Instance{running("kube-apiserver/a@v1.37.2", "--feature-gates=SidecarContainers=true")}), 1)
	// "DRAResourceClaimDeviceStatus is on by default since 1.34": since 1.33.
	require.Equal(t, SetGate, do("DRAResourceClaimDeviceStatus", "v1.32.13"))
	require.Equal(t, Nothing, do("DRAResourceClaimDeviceStatus", "v1.33.13"))
}

// applied are the instances with the flags that a plan asks for.
func applied(instances []Instance, steps []Step) []Instance {
	var out []Instance
	for _, i := range instances {
		set, config := map[string]bool{}, map[string]bool{}
		for k, v := range i.Set {
			set[k] = v
		}
		for k, v := range i.RuntimeConfig {
			config[k] = v
		}
		for _, s := range steps {
			if s.Component != i.Component || !slices.Contains(s.Instances, i.Name) {
				continue
			}
			switch s.Do {
			case SetGate:
				for _, g := range append([]string{s.Gate}, s.Also...) {
					set[g] = true
				}
			case RemoveGate:
				delete(set, s.Gate)
			}
			for _, api := range s.APIs {
				config[api] = true
			}
		}
		i.Set, i.RuntimeConfig = set, config
		out = append(out, i)
	}
	return out
}

// flagOf draws --feature-gates with some gates of the table, at least so many.
func flagOf(atLeast int) *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		var flag []string
		for _, gate := range rapid.SliceOfNDistinct(rapid.SampledFrom(Gates()), atLeast, 4, rapid.ID).Draw(t, "set") {
			flag = append(flag, fmt.Sprintf("%s=%t", gate, rapid.Bool().Draw(t, gate)))
		}
		return "--feature-gates=" + strings.Join(flag, ",")
	})
}

// Whatever a cluster runs and whatever is needed: what the plan asks for is accepted by the components' own code, makes no
// component refuse that started before, and leaves nothing more to do but what no flag can.
func TestPlannedFlagsAreAccepted(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minor := rapid.IntRange(34, newest).Draw(t, "minor")
		version := fmt.Sprintf("v1.%d.0", minor)
		arg := flagOf(0).Filter(func(arg string) bool {
			return !slices.ContainsFunc(plane(version, arg), func(i Instance) bool { return len(refusals(i, minor)) > 0 })
		}).Draw(t, "flag that starts")
		instances := plane(version, arg)
		needs := needed(rapid.SliceOfNDistinct(rapid.SampledFrom(Gates()), 1, 4, rapid.ID).Draw(t, "needed")...)
		steps := Plan(needs, instances, Kubelets{})
		after := applied(instances, steps)
		for _, i := range after {
			if refused := refusals(i, minor); len(refused) > 0 {
				t.Fatalf("%s with %v: %v", i, i.Set, refused)
			}
		}
		for _, s := range Plan(needs, after, Kubelets{}) {
			if s.Do == SetGate || s.Do == RemoveGate || s.Do == ServeAPI {
				t.Fatalf("still to do: %+v", s)
			}
		}
		for _, c := range Changes(steps) {
			var args []string
			for _, i := range instances {
				if i.Component == c.Component {
					args = append([]string{arg}, slices.DeleteFunc(c.Args(), func(a string) bool { return !strings.HasPrefix(a, "--feature-gates=") })...)
				}
			}
			enabled, err := runUpstream(t, minor, args)
			if err != nil {
				t.Fatalf("%s of 1.%d does not start with %q: %v", c.Component, minor, args, err)
			}
			for _, gate := range c.Set {
				if !enabled(gate) {
					t.Fatalf("%s of 1.%d: %s is off with %q", c.Component, minor, gate, args)
				}
			}
		}
	})
}
