package featuregate

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// What a gate depends on is read by others than the gate itself, and may wait for an API.
func TestPlanOfDependencies(t *testing.T) {
	const gang, workload = "--feature-gates=GangScheduling=true", "--feature-gates=GenericWorkload=true"
	scheduler := func(version string, flags ...string) []Instance {
		return append(plane(version)[:2], running("kube-scheduler/a@"+version, flags...))
	}
	for name, tc := range map[string]struct {
		gate      string
		instances []Instance
		want      []string
	}{
		// Without the API server's part the scheduler waits for ever for workloads, and no pod is scheduled.
		"of others, with its API": {"GangScheduling", plane("v1.35.4"), []string{
			"GangScheduling: kube-scheduler a False SetGate also GenericWorkload",
			"GenericWorkload: kube-apiserver a False SetGate serve scheduling.k8s.io/v1alpha1",
			"GenericWorkload: kube-controller-manager a False SetGate", "GenericWorkload: kube-scheduler a False SetGate"}},
		"of others, with its next API": {"GangScheduling", plane("v1.36.3"), []string{
			"GangScheduling: kube-scheduler a False SetGate also GenericWorkload",
			"GenericWorkload: kube-apiserver a False SetGate serve scheduling.k8s.io/v1alpha2",
			"GenericWorkload: kube-controller-manager a False SetGate", "GenericWorkload: kube-scheduler a False SetGate"}},
		"on, and off for others": {"GangScheduling", scheduler("v1.36.3", gang, workload), []string{
			"GangScheduling: kube-scheduler a True",
			"GenericWorkload: kube-apiserver a False SetGate serve scheduling.k8s.io/v1alpha2",
			"GenericWorkload: kube-controller-manager a False SetGate", "GenericWorkload: kube-scheduler a True"}},
		"on everywhere, its API off": {"GangScheduling", plane("v1.36.3", gang, workload), []string{
			"GangScheduling: kube-scheduler a True", "GenericWorkload: kube-apiserver a True ServeAPI serve scheduling.k8s.io/v1alpha2",
			"GenericWorkload: kube-controller-manager a True", "GenericWorkload: kube-scheduler a True"}},
		"all there": {"GangScheduling", plane("v1.36.3", gang, workload, "--runtime-config=scheduling.k8s.io/v1alpha2=true"), []string{"GangScheduling: kube-scheduler a True"}},
		"gone":      {"GangScheduling", plane("v1.37.2"), []string{"GangScheduling: kube-scheduler a False NotPossible"}},
		"not there yet": {"DRAWorkloadResourceClaims", plane("v1.35.4"), []string{"DRAWorkloadResourceClaims: kube-apiserver a False UpgradeKubernetes",
			"DRAWorkloadResourceClaims: kube-controller-manager a False UpgradeKubernetes", "DRAWorkloadResourceClaims: kube-scheduler a False UpgradeKubernetes",
			"DRAWorkloadResourceClaims: kubelet  Unknown Look"}},
		"of one that only the API server reads": {"DRAPartitionableDevicesType", plane("v1.37.2"), []string{
			"DRAPartitionableDevicesType: kube-apiserver a False SetGate also DRAResourcePoolStatus",
			"DRAResourcePoolStatus: kube-apiserver a False SetGate serve resource.k8s.io/v1alpha3", "DRAResourcePoolStatus: kube-controller-manager a False SetGate"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, s := range Plan(needed(tc.gate), tc.instances, Kubelets{}) {
				got = append(got, s.Gate+": "+told(s))
			}
			require.Equal(t, tc.want, got)
		})
	}
}

func TestWhomADependencyIsFor(t *testing.T) {
	off := plane("v1.35.4")
	rules := needed("DRADeviceTaintRules")
	taints := Need{Gate: "DRADeviceTaints", By: []string{"DRADeviceTaintRules"}}
	for name, tc := range map[string]struct {
		needs     []Need
		instances []Instance
		want      []Need
	}{
		"off":                 {rules, off, append(slices.Clone(rules), taints)},
		"off, and observed":   {append(slices.Clone(rules), Need{Gate: "DRADeviceTaints"}), off, append(slices.Clone(rules), taints)},
		"needed by itself":    {needed("DRADeviceTaintRules", "DRADeviceTaints"), off, needed("DRADeviceTaintRules", "DRADeviceTaints")},
		"on":                  {rules, plane("v1.36.3"), rules},
		"nobody needs it":     {[]Need{{Gate: "DRADeviceTaintRules"}}, off, []Need{{Gate: "DRADeviceTaintRules"}}},
		"nothing seen":        {rules, nil, rules},
		"already one of them": {append(slices.Clone(rules), taints), off, append(slices.Clone(rules), taints)},
		"for two": {needed("DRAWorkloadResourceClaims", "GangScheduling"), plane("v1.36.3"), append(needed("DRAWorkloadResourceClaims", "GangScheduling"),
			Need{Gate: "GenericWorkload", By: []string{"DRAWorkloadResourceClaims", "GangScheduling"}})},
		"no such gate": {needed("DRAExtendedResources"), off, needed("DRAExtendedResources")},
	} {
		require.Equal(t, tc.want, WithDependencies(tc.needs, tc.instances, Kubelets{}), name)
		require.Equal(t, tc.want, WithDependencies(tc.want, tc.instances, Kubelets{}), "%s: of its own result", name)
	}
	// A kubelet that can be told a gate is a place like others.
	old := Kubelets{Versions: []v1alpha1.VersionCount{{Version: "v1.35.4", Count: 1}}}
	require.Equal(t, append(needed(ExtendedResource), Need{Gate: DynamicResourceAllocation, By: []string{ExtendedResource}}),
		WithDependencies(needed(ExtendedResource), []Instance{running("kube-controller-manager/a@v1.34.4", "--feature-gates=DynamicResourceAllocation=false")}, old))
}

// Whichever one gate is needed, of a cluster that runs as it is by default: with what its plan asks for, every gate that is on finds
// those that it depends on, in all components that read them, and the API that it waits for.
func TestThePlanOfOneGateIsWhole(t *testing.T) {
	for minor := 32; minor <= newest; minor++ {
		for _, gate := range Gates() {
			version := fmt.Sprintf("v1.%d.0", minor)
			cluster := append(plane(version), Instance{Component: Kubelet, Name: "n", Version: version})
			after := applied(cluster, Plan(needed(gate), cluster, Kubelets{}))
			for _, i := range after {
				for _, name := range Gates() {
					if val := i.value(name); !val.known || !val.on {
						continue
					}
					about := fmt.Sprintf("1.%d, needed %s: %s has %s on", minor, gate, i, name)
					for _, dependency := range transitive(name, minor) {
						for _, reader := range after {
							if slices.Contains(Readers(dependency), reader.Component) {
								require.True(t, reader.value(dependency).on, "%s, and %s has %s off", about, reader, dependency)
							}
						}
					}
					for _, api := range apisFor(name, minor) {
						require.Empty(t, missing(instancesOf(APIServer, after)[0].RuntimeConfig, api.GroupVersion, api.Resources, false), about)
					}
				}
			}
		}
	}
}
