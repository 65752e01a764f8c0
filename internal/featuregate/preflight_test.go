package featuregate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func deckhouse(t testing.TB) profile.GateRules {
	t.Helper()
	all, err := profile.Distributions()
	require.NoError(t, err)
	require.NotEmpty(t, all["Deckhouse"].FeatureGates.Setting)
	return all["Deckhouse"].FeatureGates
}

// among instances of one component, those of the others with no flags.
func among(version string, instances ...Instance) []Instance {
	for _, i := range plane(version) {
		if len(instancesOf(i.Component, instances)) == 0 {
			instances = append(instances, i)
		}
	}
	return instances
}

func TestPreflight(t *testing.T) {
	const noWayBack = "1.35 note: objects of resource.k8s.io are stored as v1"
	kubelets := func(version string) []v1alpha1.VersionCount {
		return []v1alpha1.VersionCount{{Version: version, Count: 2}}
	}
	for name, tc := range map[string]struct {
		cluster Cluster
		to      int
		want    []string // beginnings of lines
	}{
		"nothing known": {cluster: Cluster{}, to: 38, want: []string{"1.38 note kube-apiserver : its version is not known, so nothing is known of what an upgrade would stop"}},
		// A managed control plane: what is known without its flags is said, and that they are not known.
		"no instance": {cluster: Cluster{Version: "v1.34.4", InlineCounters: []string{"gpu.example.com"}, Kubelets: kubelets("v1.33.5"), ResourceAPIs: []string{"v1"}}, to: 35, want: []string{
			"1.34 STOPS kube-apiserver : 2 kubelet(s) below 1.34", noWayBack, "1.35 note kube-apiserver : its flags can't be read, no instance of it was seen: look yourself",
			"1.35 note kube-controller-manager : its flags can't be read, no instance", "1.35 note kube-scheduler : its flags can't be read, no instance",
			"1.35 STOPS DRAPartitionableDevices : slices of gpu.example.com hold"}},
		"no instance, that new already":   {cluster: Cluster{Version: "v1.37.2"}, to: 37},
		"old kubelets, served as is seen": {cluster: Cluster{Version: "v1.37.2", Kubelets: kubelets("v1.33.5"), ResourceAPIs: []string{"v1", "v1beta1"}}, to: 37},
		"old kubelets, nothing seen": {cluster: Cluster{Version: "v1.37.2", Kubelets: kubelets("v1.33.5")}, to: 37,
			want: []string{"1.34 note kube-apiserver : 2 kubelet(s) below 1.34 speak resource.k8s.io/v1beta1 only: upgrade them with it, or keep --runtime-config=resource.k8s.io/v1beta1=true until they are; whether it is served is not known"}},
		"no scheduler":                 {cluster: Cluster{Instances: plane("v1.36.3")[:2]}, to: 38, want: []string{"1.37 note kube-scheduler : its flags can't be read, no instance of it was seen"}},
		"unreadable, that new already": {cluster: Cluster{Instances: append(plane("v1.36.3")[:2], running("kube-scheduler/b@v1.37.2", "$(ARGS)"))}, to: 37},
		"version of one unread": {cluster: Cluster{Instances: append(plane("v1.36.3")[:2], running("kube-scheduler/b"))}, to: 37,
			want: []string{"1.37 note kube-scheduler b: its version can't be read"}},
		"flags in a file": {cluster: Cluster{Instances: among("v1.36.3", running("kube-apiserver/a@v1.36.3", "--openshift-config=/c"))}, to: 37,
			want: []string{"1.37 note kube-apiserver a: flags in /c can't be read: look yourself whether they stop it"}},
		"nothing ahead": {cluster: Cluster{Instances: plane("v1.37.2")}, to: 38},
		"storage":       {cluster: Cluster{Instances: plane("v1.34.4")}, to: 37, want: []string{noWayBack}},
		"not that far":  {cluster: Cluster{Instances: plane("v1.33.13", "--runtime-config=resource.k8s.io/v1beta1=true")}, to: 34},
		"each gate once": {cluster: Cluster{Instances: plane("v1.35.4", "--feature-gates=SidecarContainers=true,MemoryManager=true,DRAAdminAccess=false")}, to: 38, want: []string{
			"1.36 STOPS DRAAdminAccess kube-apiserver a: it is set to false, but locked to true since 1.36",
			"1.36 STOPS DRAAdminAccess kube-controller-manager a:", "1.36 STOPS DRAAdminAccess kube-scheduler a:",
			"1.36 STOPS MemoryManager kube-apiserver a: 1.36 does not have this gate any more", "1.36 STOPS MemoryManager kube-controller-manager a:", "1.36 STOPS MemoryManager kube-scheduler a:",
			"1.37 STOPS SidecarContainers kube-apiserver a: 1.37 does not have this gate any more", "1.37 STOPS SidecarContainers kube-controller-manager a:", "1.37 STOPS SidecarContainers kube-scheduler a:"}},
		"instances together": {cluster: Cluster{Instances: among("v1.36.3", running("kube-apiserver/b@v1.36.3", "--feature-gates=SidecarContainers=true"), running("kube-apiserver/a@v1.36.3", "--feature-gates=SidecarContainers=true"))}, to: 37,
			want: []string{"1.37 STOPS SidecarContainers kube-apiserver a,b:"}},
		"refused already": {cluster: Cluster{Instances: among("v1.36.3", running("kube-apiserver/a@v1.36.3", "--feature-gates=MemoryManager=true"))}, to: 37},
		"dependency, from 1.35 on": {cluster: Cluster{Instances: among("v1.34.4", running("kube-apiserver/a@v1.34.4", "--feature-gates=DRADeviceBindingConditions=true,DRAResourceClaimDeviceStatus=false"))}, to: 35,
			want: []string{noWayBack, "1.35 STOPS DRADeviceBindingConditions kube-apiserver a: it is on and depends on DRAResourceClaimDeviceStatus"}},
		"announced, overdue": {cluster: Cluster{Instances: among("v1.37.2", running("kube-apiserver/a@v1.37.2", "--feature-gates=KubeletPodResourcesGet=true,DRAAdminAccess=true"))}, to: 38,
			want: []string{"1.38 note KubeletPodResourcesGet kube-apiserver a: the sources announce its removal for 1.37"}},
		"lock announced": {cluster: Cluster{Instances: among("v1.37.2", running("kube-apiserver/a@v1.37.2", "--feature-gates=DRADeviceTaintRules=false,DRADeviceTaints=true"))}, to: 38,
			want: []string{"1.38 note DRADeviceTaintRules kube-apiserver a: the sources announce that it is locked to true in 1.38"}},
		"API gone": {cluster: Cluster{Instances: plane("v1.35.4", "--runtime-config=scheduling.k8s.io/v1alpha1=true,other.example.com/v1alpha1=true")}, to: 37,
			want: []string{"1.36 STOPS kube-apiserver a: --runtime-config names scheduling.k8s.io/v1alpha1, which 1.36 does not have"}},
		"API gone already": {cluster: Cluster{Instances: plane("v1.36.3", "--runtime-config=scheduling.k8s.io/v1alpha1=true")}, to: 37},
		"API moved": {cluster: Cluster{Instances: plane("v1.35.4", "--feature-gates=DRADeviceTaints=true,DRADeviceTaintRules=true", "--runtime-config=resource.k8s.io/v1alpha3=true")}, to: 37,
			want: []string{"1.36 STOPS DRADeviceTaintRules kube-apiserver a: it needs resource.k8s.io/v1beta2 from then on"}},
		"API off already": {cluster: Cluster{Instances: plane("v1.36.3", "--feature-gates=DRAResourcePoolStatus=true,GenericWorkload=true")}, to: 37},
		"API off later":   {cluster: Cluster{Instances: plane("v1.35.4", "--feature-gates=DRADeviceTaints=true,DRADeviceTaintRules=true", "--runtime-config=resource.k8s.io/v1alpha3=true,resource.k8s.io/v1beta2/devicetaintrules=true")}, to: 37},
		"old kubelets": {cluster: Cluster{Instances: plane("v1.34.4"), Kubelets: kubelets("v1.33.5")}, to: 34,
			want: []string{"1.34 STOPS kube-apiserver a: 2 kubelet(s) below 1.34 speak resource.k8s.io/v1beta1 only"}},
		"old kubelets, served": {cluster: Cluster{Instances: plane("v1.33.13", "--runtime-config=resource.k8s.io/v1beta1=true"), Kubelets: kubelets("v1.33.5")}, to: 34},
		"old kubelets, dropped by the platform": {cluster: Cluster{Instances: plane("v1.33.13", "--runtime-config=resource.k8s.io/v1beta1=true"), Kubelets: kubelets("v1.33.5"), Rules: deckhouse(t)}, to: 34,
			want: []string{"1.34 STOPS kube-apiserver : 2 kubelet(s) below 1.34 speak resource.k8s.io/v1beta1 only"}},
		"old kubelets, dropped by the platform before": {cluster: Cluster{Instances: plane("v1.34.4"), Kubelets: kubelets("v1.33.5"), Rules: deckhouse(t)}, to: 34,
			want: []string{"1.34 STOPS kube-apiserver a: 2 kubelet(s) below 1.34 speak resource.k8s.io/v1beta1 only: upgrade them with it, or keep " +
				"--runtime-config=resource.k8s.io/v1beta1=true until they are; the platform takes that entry away with 1.34 by itself"}},
		"old kubelets, served against the platform": {cluster: Cluster{Instances: plane("v1.34.4", "--runtime-config=resource.k8s.io/v1beta1=true"), Kubelets: kubelets("v1.33.5"), Rules: deckhouse(t)}, to: 34},
		"old kubelets, perhaps served by a file": {cluster: Cluster{Instances: []Instance{running("kube-apiserver/a@v1.34.4", "--openshift-config=/c")}, Kubelets: kubelets("v1.33.5")}, to: 34,
			want: []string{"1.34 note kube-apiserver : 2 kubelet(s) below 1.34 speak resource.k8s.io/v1beta1 only"}},
		"kubelets of 1.34": {cluster: Cluster{Instances: plane("v1.34.4"), Kubelets: kubelets("v1.34.1")}, to: 34},
		"a gate of the platform": {cluster: Cluster{Instances: plane("v1.35.4"), Rules: deckhouse(t)}, to: 37,
			want: []string{"1.36 note MemoryManager kubelet : the platform sets it by itself, as far as is known of it: where a NodeGroup has spec.kubelet.topologyManager.enabled: 1.36 does not have"}},
		"a gate of the platform, in kubelets that are behind": {cluster: Cluster{Instances: plane("v1.36.3"), Kubelets: append(kubelets("v1.36.3"), kubelets("v1.35.4")...), Rules: deckhouse(t)}, to: 37,
			want: []string{"1.36 note MemoryManager kubelet : the platform sets it by itself, as far as is known of it: where a NodeGroup has spec.kubelet.topologyManager.enabled: 1.36 does not have"}},
		"a gate of the platform, in a kubelet that was read": {cluster: Cluster{Instances: append(plane("v1.37.2"), kubelet("n@v1.35.4", "KubeletPodResourcesGet", true)), Kubelets: kubelets("v1.37.2"), Rules: deckhouse(t)}, to: 37,
			want: []string{"1.36 note MemoryManager kubelet :"}},
		"a gate of the platform, in kubelets that are new": {cluster: Cluster{Instances: plane("v1.36.3"), Kubelets: kubelets("v1.36.3"), Rules: deckhouse(t)}, to: 37},
		"slices": {cluster: Cluster{Instances: plane("v1.34.4"), InlineCounters: []string{"gpu.example.com"}}, to: 35,
			want: []string{noWayBack, "1.35 STOPS DRAPartitionableDevices : slices of gpu.example.com hold counters beside devices"}},
		"slices not looked at": {cluster: Cluster{Instances: plane("v1.34.4"), Needs: needed(PartitionableDevices)}, to: 35,
			want: []string{noWayBack, "1.35 note DRAPartitionableDevices : 1.35 refuses slices"}},
		"slices are well": {cluster: Cluster{Instances: plane("v1.34.4"), Needs: needed(PartitionableDevices), InlineCounters: []string{}}, to: 35, want: []string{noWayBack}},
		"unreadable": {cluster: Cluster{Instances: among("v1.36.3", running("kube-apiserver/a@v1.36.3", "$(ARGS)"))}, to: 38,
			want: []string{"1.37 note kube-apiserver a: its flags can't be read (the argument \"$(ARGS)\" comes from a variable and may hold feature gates): look yourself whether they stop it"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, f := range Preflight(tc.cluster, tc.to) {
				line := fmt.Sprintf("1.%d note", f.To)
				if f.Stops {
					line = fmt.Sprintf("1.%d STOPS", f.To)
				}
				if f.Gate != "" {
					line += " " + f.Gate
				}
				if f.Component != "" || f.Gate != "" {
					line += strings.TrimSuffix(" "+f.Component, " ") + " " + strings.Join(f.Instances, ",")
				}
				got = append(got, line+": "+f.Text)
			}
			require.Len(t, got, len(tc.want), "%q", got)
			for n, want := range tc.want {
				require.True(t, strings.HasPrefix(got[n], want), "%q, want %q", got[n], want)
			}
		})
	}
}

// The preflight says of flags, before an upgrade, what the components' own code says after it.
func TestPreflightAgreesWithComponentBase(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		minor := rapid.IntRange(34, newest-1).Draw(t, "minor")
		arg := flagOf(1).Filter(func(arg string) bool {
			_, err := runUpstream(t, minor, []string{arg})
			return err == nil
		}).Draw(t, "flag that starts")
		api := running(fmt.Sprintf("kube-apiserver/a@v1.%d.0", minor), arg, "--runtime-config=api/all=true")
		found := Preflight(Cluster{Instances: []Instance{api}}, newest)
		for next := minor + 1; next <= newest; next++ {
			stops := false
			for _, f := range found {
				stops = stops || f.Stops && f.To <= next
			}
			_, err := runUpstream(t, next, []string{arg})
			if err != nil && !stops {
				t.Fatalf("1.%d does not start with %s (%v), and the preflight from 1.%d does not say so: %+v", next, arg, err, minor, found)
			}
			if err == nil && stops {
				// Something in between stopped already, or it says too much.
				between := false
				for m := minor + 1; m < next; m++ {
					_, err := runUpstream(t, m, []string{arg})
					between = between || err != nil
				}
				if !between {
					t.Fatalf("1.%d starts with %s, and the preflight says that it does not: %+v", next, arg, found)
				}
			}
		}
	})
}

func TestAdvise(t *testing.T) {
	rules := deckhouse(t)
	text := func(gate, version string, component string, kubelets ...v1alpha1.VersionCount) string {
		t.Helper()
		for _, a := range Advise(Plan(needed(gate), plane(version), Kubelets{Versions: kubelets}), rules) {
			if a.Component == component {
				return a.Text
			}
		}
		return ""
	}
	require.Contains(t, text("ResourceHealthStatus", "v1.34.4", APIServer), "add ResourceHealthStatus to spec.settings.enabledFeatureGates of ModuleConfig control-plane-manager")
	// Neither set by the platform nor known to its setting.
	require.Contains(t, text("DRADeviceTaints", "v1.34.4", Scheduler), "ignores it without an error; from 1.36 on it is on by default: upgrade Kubernetes")
	require.Contains(t, text("DRAListTypeAttributes", "v1.36.3", Scheduler), "does not know it for 1.36 and ignores it")
	require.NotContains(t, text("DRAListTypeAttributes", "v1.36.3", Scheduler), "upgrade")
	// What it should set by itself is missing.
	require.Contains(t, text(PartitionableDevices, "v1.34.4", Scheduler), "the platform sets it by itself in 1.34, but it is not seen")
	// Its kubelets do not get the gate that its API server and scheduler get.
	kubelet := text(ExtendedResource, "v1.35.4", Kubelet, v1alpha1.VersionCount{Version: "v1.35.4", Count: 1})
	require.Contains(t, kubelet, "ignores it without an error; from 1.36 on it is on by default")
	require.Contains(t, kubelet, "NodeGroupConfiguration")
	require.Contains(t, Advise([]Step{{Gate: "DRADeviceTaints", Component: APIServer, Version: "v1.34.4", Do: ServeAPI, APIs: []string{"resource.k8s.io/v1alpha3"}}}, rules)[0].Text,
		"no setting for --runtime-config: resource.k8s.io/v1alpha3 cannot be switched on")
	require.Empty(t, text(PartitionableDevices, "v1.36.3", Scheduler), "nothing to do, nothing to advise")
	// What it sets in kubelets by itself needs neither a step nor advice.
	old := Plan(needed(DynamicResourceAllocation), plane("v1.34.4"), Kubelets{[]v1alpha1.VersionCount{{Version: "v1.33.5", Count: 1}}, rules})
	require.Equal(t, "kubelet x1 True", told(old[len(old)-1]))
	require.Equal(t, "set by the platform in 1.33", old[len(old)-1].Why)
	require.Empty(t, Advise(old, rules))
	require.Nil(t, Advise(Plan(needed(PartitionableDevices), plane("v1.34.4"), Kubelets{}), profile.GateRules{}), "who writes the flags needs no advice")
}

func TestFragments(t *testing.T) {
	needs := needed("DRADeviceTaintRules", ExtendedResource)
	changes := Changes(Plan(needs, plane("v1.35.4"), Kubelets{Versions: []v1alpha1.VersionCount{{Version: "v1.35.4", Count: 1}}}))
	require.Equal(t, `apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
apiServer:
  extraArgs:
  - name: feature-gates
    value: DRADeviceTaintRules=true,DRADeviceTaints=true,DRAExtendedResource=true
  - name: runtime-config
    value: resource.k8s.io/v1alpha3=true
controllerManager:
  extraArgs:
  - name: feature-gates
    value: DRADeviceTaintRules=true,DRADeviceTaints=true
scheduler:
  extraArgs:
  - name: feature-gates
    value: DRADeviceTaintRules=true,DRADeviceTaints=true,DRAExtendedResource=true
`, Kubeadm(changes))
	require.Equal(t, "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates:\n  DRAExtendedResource: true\n", KubeletConfiguration(changes))
	require.Empty(t, Changes(Plan(needs, plane("v1.37.2"), Kubelets{})))
	require.Empty(t, Kubeadm(nil))
	require.Empty(t, KubeletConfiguration(nil))

	// In the middle of an upgrade one file serves both versions: what the older one refuses stays out.
	mixed := Plan(needed("DRAListTypeAttributes", PartitionableDevices), []Instance{running("kube-scheduler/a@v1.35.4"), running("kube-scheduler/b@v1.36.3")}, Kubelets{})
	require.Equal(t, []Change{{Component: Scheduler, Set: []string{PartitionableDevices}}}, Changes(mixed))
}

// A gate that the table does not have, or a component that reads none, would never match anything.
func TestRulesOfEveryDistributionMakeSense(t *testing.T) {
	all, err := profile.Distributions()
	require.NoError(t, err)
	components := []string{APIServer, ControllerManager, Scheduler, Kubelet}
	for name, d := range all {
		check := func(gate string, m profile.Minors) {
			require.True(t, InTable(gate), "%s: %s", name, gate)
			require.True(t, m.To == 0 || m.From <= m.To, "%s: %s", name, gate)
			require.True(t, m.From == 0 || m.From >= oldest && m.From <= newest, "%s: %s", name, gate)
		}
		for _, f := range d.FeatureGates.Fixed {
			check(f.Gate, f.Minors)
			require.Subset(t, components, f.Components, name)
			require.NotEmpty(t, f.Components, "%s: %s", name, f.Gate)
		}
		for _, g := range d.FeatureGates.Settable {
			check(g.Gate, g.Minors)
		}
		for _, a := range d.FeatureGates.FixedAPIs {
			require.Contains(t, registered[max(a.From, oldest)], a.GroupVersion, name)
		}
	}
}
