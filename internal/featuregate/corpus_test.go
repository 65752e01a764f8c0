package featuregate

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// expectation is what a file of the corpus must read as.
type expectation struct {
	// version that the file's components run.
	version string
	// set by component: "+On -Off"; a component that is not here has no instance.
	set map[string]string
	// unreadable is part of the error, when the file's arguments are none a component accepts.
	unreadable string
	// conflicts and ahead are the gates that Conflicts names.
	conflicts, ahead []string
}

const fourDRA = "+DRADeviceBindingConditions +DRAConsumableCapacity +DRAExtendedResource +DRAPartitionableDevices"

var corpus = map[string]expectation{
	"deckhouse-kube-apiserver-k8s134.txt": {version: "v1.34.4", set: map[string]string{
		APIServer: "+RotateKubeletServerCertificate +CRDSensitiveData +TopologyAwareHints " + fourDRA}},
	"kind-k8s135-featuregates.yaml": {version: "v1.35.0", set: everywhere(
		"+DynamicResourceAllocation +DRAConsumableCapacity +DRAPartitionableDevices +DRAPrioritizedList +DRAResourceClaimDeviceStatus +DRADeviceTaints +DRADeviceBindingConditions")},
	"kind-k8s136-featuregates-removed-in-137.yaml": {version: "v1.36.0", ahead: []string{"GangScheduling"}, set: everywhere(
		"+DynamicResourceAllocation +DRAAdminAccess +DRAWorkloadResourceClaims +GangScheduling +GenericWorkload +DRAExtendedResource +DRADeviceBindingConditions +DRANodeAllocatableResources +DRAConsumableCapacity")},
	"kube-apiserver-k8s132-gate-without-runtime-config.yaml": {version: "v1.32.4", set: map[string]string{APIServer: "+DynamicResourceAllocation"}},
	"kube-apiserver-mixed-kube-prefix.txt":                   {version: "v1.34.4", unreadable: "prefix kube:"},
	"kube-apiserver-two-feature-gates-flags.txt": {version: "v1.34.4", set: map[string]string{
		APIServer: "+DynamicResourceAllocation +DRAAdminAccess +DRAConsumableCapacity"}},
	// The controller manager, which makes claims out of templates, was forgotten.
	"kubeadm-v1beta4-k8s133-many-gates.yaml": {version: "v1.33.2", conflicts: []string{"DRAAdminAccess", PrioritizedList}, set: map[string]string{
		APIServer:         "+DynamicResourceAllocation +DRADeviceTaints +DRAAdminAccess +DRAPrioritizedList +DRAPartitionableDevices +DRAResourceClaimDeviceStatus",
		ControllerManager: "+DynamicResourceAllocation +DRADeviceTaints",
		Scheduler:         "+DynamicResourceAllocation +DRADeviceTaints +DRAAdminAccess +DRAPrioritizedList +DRAPartitionableDevices",
		Kubelet:           "+DynamicResourceAllocation"}},
	"kubeadm-v1beta4-k8s135-all-components.yaml": {version: "v1.35.0", set: map[string]string{
		APIServer:         "+DRAExtendedResource +DRADeviceTaints +DRAAdminAccess +DRAPartitionableDevices +DRAResourceClaimDeviceStatus +ResourceHealthStatus +DRAPrioritizedList",
		ControllerManager: "+DRADeviceTaints +DRAPrioritizedList",
		Scheduler:         "+DRAExtendedResource +DRADeviceTaints +DRAAdminAccess +DRAPartitionableDevices +DRAPrioritizedList",
		Kubelet:           "+DRAExtendedResource +ResourceHealthStatus"}},
	// The kubelet decodes a repeated key leniently: the last block wins.
	"kubelet-config-duplicate-featuregates-key.yaml": {version: "v1.34.4", set: map[string]string{
		Kubelet: "+DynamicResourceAllocation +DRAConsumableCapacity"}},
	"managed-cluster-gates-k8s133.yaml": {version: "v1.33.1", conflicts: []string{"DRAControlPlaneController"},
		set: everywhere("+DynamicResourceAllocation +DRAControlPlaneController")},
	"rke2-config-k8s134.yaml": {version: "v1.34.4", set: map[string]string{
		APIServer:         "+DynamicResourceAllocation +DRADeviceBindingConditions +DRAResourceClaimDeviceStatus +DRADeviceTaints",
		ControllerManager: "+DynamicResourceAllocation +DRADeviceTaints",
		Scheduler:         "+DynamicResourceAllocation +DRADeviceBindingConditions +DRADeviceTaints",
		Kubelet:           "+DynamicResourceAllocation"}},
	"scheduler-plural-gate-name.txt": {version: "v1.34.4", conflicts: []string{"DRAExtendedResources"}, set: map[string]string{
		Scheduler: "+DRAExtendedResources +DRADeviceTaints"}},
}

func everywhere(set string) map[string]string {
	return map[string]string{APIServer: set, ControllerManager: set, Scheduler: set, Kubelet: set}
}

func TestCorpus(t *testing.T) {
	root := os.Getenv("GPU_DRA_CORPUS")
	if root == "" {
		t.Log("GPU_DRA_CORPUS is not set; the same shapes are in the other tests")
		return
	}
	files, err := filepath.Glob(filepath.Join(root, "flags", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s/flags: %v", root, err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			want, ok := corpus[filepath.Base(file)]
			if !ok {
				t.Fatal("no expectation for this file: add one")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			checkCorpusFile(t, readInstances(t, file, string(text), want.version), want)
		})
	}
}

func checkCorpusFile(t *testing.T, instances []Instance, want expectation) {
	t.Helper()
	if want.unreadable != "" {
		if len(instances) != 1 || !strings.Contains(instances[0].Unreadable, want.unreadable) {
			t.Errorf("%+v, want unreadable: %s", instances, want.unreadable)
		}
		return
	}
	got := map[string]string{}
	for _, i := range instances {
		if i.Unreadable != "" {
			t.Errorf("%s: %s", i, i.Unreadable)
		}
		if !maps.Equal(i.Set, gates(want.set[i.Component])) {
			t.Errorf("%s: %v, want %q", i, i.Set, want.set[i.Component])
		}
		got[i.Component] = ""
	}
	if len(got) != len(want.set) {
		t.Errorf("instances of %v, want %v", slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want.set)))
	}
	var conflicts, ahead []string
	for _, c := range Conflicts(instances) {
		if c.Ahead != 0 {
			ahead = append(ahead, c.Gate)
		} else {
			conflicts = append(conflicts, c.Gate)
		}
	}
	conflicts, ahead = slices.Compact(conflicts), slices.Compact(ahead)
	if !slices.Equal(conflicts, want.conflicts) || !slices.Equal(ahead, want.ahead) {
		t.Errorf("conflicts %v ahead %v, want %v and %v", conflicts, ahead, want.conflicts, want.ahead)
	}
}

// readInstances turns the forms in which clusters are configured into the arguments that components end up with.
func readInstances(t *testing.T, file, text, version string) []Instance {
	t.Helper()
	if strings.HasSuffix(file, ".txt") {
		argv := strings.Fields(text)
		return []Instance{NewInstance(argv[0], "a", version, argv)}
	}
	var out []Instance
	for document := range strings.SplitSeq(text, "\n---\n") {
		var d clusterFile
		if err := yaml.Unmarshal([]byte(document), &d); err != nil {
			t.Fatal(err)
		}
		add := func(component string, flags ...string) {
			if component == Kubelet {
				out = append(out, configured(t, version, flags))
				return
			}
			out = append(out, NewInstance(component, "a", version, append([]string{component}, flags...)))
		}
		for _, c := range d.Spec.Containers {
			add(c.Name, c.Command[1:]...)
		}
		for component, args := range d.kubeadm() {
			add(component, args...)
		}
		for component, args := range d.rke2() {
			add(component, args...)
		}
		if len(d.FeatureGates) > 0 {
			for component := range everywhere("") {
				if d.Kind != "KubeletConfiguration" || component == Kubelet {
					add(component, "--feature-gates="+joined(d.FeatureGates))
				}
			}
		}
		if len(d.Cluster.FeatureGates) > 0 {
			for component := range everywhere("") {
				add(component, "--feature-gates="+strings.Join(d.Cluster.FeatureGates, "=true,")+"=true")
			}
		}
	}
	return out
}

// configured is a kubelet that serves at /configz what its flags set.
func configured(t *testing.T, version string, flags []string) Instance {
	t.Helper()
	set := map[string]bool{}
	for _, flag := range flags {
		list, ok := strings.CutPrefix(flag, "--feature-gates=")
		for item := range strings.SplitSeq(list, ",") {
			if name, on, _ := strings.Cut(item, "="); ok {
				set[name] = on == "true"
			}
		}
	}
	data, err := json.Marshal(map[string]any{"kubeletconfig": map[string]any{"featureGates": set}})
	if err != nil {
		t.Fatal(err)
	}
	i, err := FromConfigz("a", version, data)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func joined(set map[string]bool) string {
	var items []string
	for name, on := range set {
		items = append(items, fmt.Sprintf("%s=%t", name, on))
	}
	return strings.Join(items, ",")
}

// clusterFile holds the gate-bearing fields of static pods, kubeadm, kind, kubelet, RKE2 and a provider's list.
type clusterFile struct {
	Kind string `json:"kind"`
	Spec struct {
		Containers []struct {
			Name    string   `json:"name"`
			Command []string `json:"command"`
		} `json:"containers"`
	} `json:"spec"`
	APIServer         extraArgs       `json:"apiServer"`
	ControllerManager extraArgs       `json:"controllerManager"`
	Scheduler         extraArgs       `json:"scheduler"`
	FeatureGates      map[string]bool `json:"featureGates"`
	APIServerArg      []string        `json:"kube-apiserver-arg"`
	ControllerArg     []string        `json:"kube-controller-manager-arg"`
	SchedulerArg      []string        `json:"kube-scheduler-arg"`
	KubeletArg        []string        `json:"kubelet-arg"`
	Cluster           struct {
		FeatureGates []string `json:"feature_gates"`
	} `json:"cluster"`
}

type extraArgs struct {
	ExtraArgs []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"extraArgs"`
}

func (d clusterFile) kubeadm() map[string][]string {
	out := map[string][]string{}
	for component, args := range map[string]extraArgs{APIServer: d.APIServer, ControllerManager: d.ControllerManager, Scheduler: d.Scheduler} {
		for _, a := range args.ExtraArgs {
			out[component] = append(out[component], "--"+a.Name+"="+a.Value)
		}
	}
	return out
}

func (d clusterFile) rke2() map[string][]string {
	out := map[string][]string{}
	for component, args := range map[string][]string{APIServer: d.APIServerArg, ControllerManager: d.ControllerArg, Scheduler: d.SchedulerArg, Kubelet: d.KubeletArg} {
		for _, a := range args {
			out[component] = append(out[component], "--"+a)
		}
	}
	return out
}
