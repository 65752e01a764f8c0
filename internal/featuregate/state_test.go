package featuregate

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// running makes an instance "component/name@version" with flags.
func running(id string, flags ...string) Instance {
	id, version, _ := strings.Cut(id, "@")
	component, name, _ := strings.Cut(id, "/")
	return NewInstance(component, name, version, append([]string{component}, flags...))
}

// kubelet makes one that was read, "node@version", with a gate set.
func kubelet(id, gate string, on bool) Instance {
	node, version, _ := strings.Cut(id, "@")
	return Instance{Component: Kubelet, Name: node, Version: version, Flags: Flags{Set: map[string]bool{gate: on}}}
}

func plane(version string, flags ...string) []Instance {
	return []Instance{running("kube-apiserver/a@"+version, flags...), running("kube-controller-manager/a@"+version, flags...),
		running("kube-scheduler/a@"+version, flags...)}
}

func TestState(t *testing.T) {
	const partition = "DRAPartitionableDevices"
	k34 := []v1alpha1.VersionCount{{Version: "v1.34.2", Count: 3}}
	k33 := []v1alpha1.VersionCount{{Version: "v1.33.5", Count: 1}}
	k36 := []v1alpha1.VersionCount{{Version: "v1.36.0", Count: 3}}
	var many []Instance
	for _, node := range strings.Split("a b c d e f g h i j k l", " ") {
		many = append(many, kubelet(node+"@v1.36.0", ExtendedResource, false))
	}
	mixed := []v1alpha1.VersionCount{{Version: "v1.36.0", Count: 1}, {Version: "v1.35.1", Count: 2}}
	for name, tc := range map[string]struct {
		gate      string
		instances []Instance
		kubelets  []v1alpha1.VersionCount
		rules     profile.GateRules
		want      metav1.ConditionStatus
		says      []string
	}{
		"off by default": {gate: partition, instances: plane("v1.34.4"), want: "False",
			says: []string{"off in kube-apiserver a (off by default in 1.34), kube-scheduler a (off by default in 1.34)", "set DRAPartitionableDevices=true there"}},
		"on by default":         {gate: partition, instances: plane("v1.36.1"), want: "True"},
		"on by flags":           {gate: partition, instances: plane("v1.34.4", "--feature-gates=DRAPartitionableDevices=true"), want: "True"},
		"off by flags":          {gate: partition, instances: plane("v1.36.1", "--feature-gates=DRAPartitionableDevices=false"), want: "False", says: []string{"set by its flags"}},
		"all alpha":             {gate: partition, instances: plane("v1.34.4", "--feature-gates=AllAlpha=true"), want: "True"},
		"all alpha but":         {gate: partition, instances: plane("v1.34.4", "--feature-gates=DRAPartitionableDevices=false,AllAlpha=true"), want: "False"},
		"all alpha is no beta":  {gate: "DRADeviceTaintRules", instances: plane("v1.36.1", "--feature-gates=AllAlpha=true"), want: "False"},
		"no beta":               {gate: partition, instances: plane("v1.36.1", "--feature-gates=AllBeta=false"), want: "False", says: []string{"set by AllBeta"}},
		"emulating an old one":  {gate: partition, instances: plane("v1.36.1", "--emulated-version=1.35"), want: "False", says: []string{"off by default in 1.35"}},
		"not yet there":         {gate: "DRAConsumableCapacity", instances: plane("v1.33.4"), want: "False", says: []string{"1.33 does not have it yet"}},
		"part of Kubernetes":    {gate: "SidecarContainers", instances: plane("v1.37.2"), kubelets: k36, want: "True"},
		"newer than the table":  {gate: partition, instances: plane("v1.38.0"), want: "Unknown", says: []string{"does not know the defaults of 1.38"}},
		"locked before":         {gate: DynamicResourceAllocation, instances: plane("v1.38.0"), kubelets: k36, want: "True"},
		"no such gate":          {gate: "DRAExtendedResources", instances: plane("v1.34.4"), want: "Unknown", says: []string{"perhaps DRAExtendedResource"}},
		"nobody there":          {gate: partition, want: "Unknown", says: []string{"no kube-apiserver was seen, no kube-scheduler was seen"}},
		"no scheduler":          {gate: partition, instances: plane("v1.36.1")[:2], want: "Unknown", says: []string{"not known: no kube-scheduler was seen;"}},
		"version unread":        {gate: partition, instances: plane(""), want: "Unknown", says: []string{"depends on its version"}},
		"version unread, set":   {gate: partition, instances: plane("", "--feature-gates=DRAPartitionableDevices=true"), want: "True"},
		"unreadable":            {gate: partition, instances: append(plane("v1.36.1"), running("kube-scheduler/b@v1.36.1", "$(ARGS)")), want: "Unknown", says: []string{"kube-scheduler b", "$(ARGS)"}},
		"one of three off":      {gate: partition, instances: append(plane("v1.36.1"), running("kube-scheduler/b@v1.36.1", "--feature-gates="+partition+"=false")), want: "False", says: []string{"off in kube-scheduler b (set by its flags):"}},
		"one off, one unknown":  {gate: partition, instances: []Instance{running("kube-scheduler/b@v1.34.1")}, want: "False", says: []string{"off in kube-scheduler b", "not known: no kube-apiserver"}},
		"not read there":        {gate: partition, instances: append(plane("v1.36.1"), running("kube-controller-manager/b@v1.36.1", "--feature-gates="+partition+"=false")), want: "True"},
		"perhaps in a file":     {gate: partition, instances: append(plane("v1.36.1"), running("kube-scheduler/b@v1.36.1", "--openshift-config=/c")), want: "Unknown", says: []string{"perhaps in /c"}},
		"kubelet on by default": {gate: ExtendedResource, instances: plane("v1.36.1"), kubelets: k36, want: "True"},
		"kubelet unseen":        {gate: ExtendedResource, instances: plane("v1.34.4", "--feature-gates=DRAExtendedResource=true"), kubelets: k34, want: "Unknown", says: []string{"kubelet v1.34.2 on 3 node(s) (off by default in 1.34, and its own configuration can't be seen)"}},
		"kubelets mixed":        {gate: ExtendedResource, instances: plane("v1.36.1"), kubelets: mixed, want: "Unknown", says: []string{"kubelet v1.35.1 on 2 node(s)"}},
		"kubelet too old":       {gate: ExtendedResource, instances: plane("v1.36.1"), kubelets: []v1alpha1.VersionCount{{Version: "v1.33.0", Count: 1}}, want: "False", says: []string{"kubelet v1.33.0 on 1 node(s) (1.33 does not have it yet)"}},
		"kubelet of no version": {gate: ExtendedResource, instances: plane("v1.36.1"), kubelets: []v1alpha1.VersionCount{{Version: "fake", Count: 1}}, want: "Unknown", says: []string{"not a Kubernetes version"}},
		"no kubelet":            {gate: ExtendedResource, instances: plane("v1.36.1"), want: "Unknown", says: []string{"no kubelet of a listed node group"}},
		"kubelet read on":       {gate: ExtendedResource, instances: append(plane("v1.36.1"), kubelet("n@v1.35.1", ExtendedResource, true)), kubelets: []v1alpha1.VersionCount{{Version: "v1.35.1", Count: 1}}, want: "True"},
		"kubelet read off":      {gate: ExtendedResource, instances: append(plane("v1.36.1"), kubelet("n@v1.36.0", ExtendedResource, false)), kubelets: k36, want: "False", says: []string{"off in kubelet n (set by its configuration): set"}},
		"kubelet read, another": {gate: ExtendedResource, instances: append(plane("v1.36.1"), kubelet("n@v1.35.1", ExtendedResource, true)), kubelets: mixed, want: "Unknown", says: []string{"not known: kubelet v1.35.1 on 1 node(s) (off by default in 1.35, and"}},
		"kubelet read, none set": {gate: ExtendedResource, instances: append(plane("v1.36.1"), kubelet("n@v1.35.1", "MemoryManager", true)), kubelets: []v1alpha1.VersionCount{{Version: "v1.35.1", Count: 1}}, want: "False",
			says: []string{"off in kubelet n (off by default in 1.35): set"}},
		"many kubelets read": {gate: ExtendedResource, instances: append(plane("v1.36.1"), many...), want: "False",
			says: []string{"off in kubelet a, b, c, d, e, f, g, h, i, j and 2 more (set by its configuration): set"}},
		"kubelet set by the platform":       {gate: DynamicResourceAllocation, instances: plane("v1.34.4"), kubelets: k33, rules: deckhouse(t), want: "True"},
		"kubelet read against the platform": {gate: DynamicResourceAllocation, instances: append(plane("v1.34.4"), kubelet("n@v1.33.5", DynamicResourceAllocation, false)), kubelets: k33, rules: deckhouse(t), want: "False", says: []string{"off in kubelet n"}},
		"kubelet not set by nobody":         {gate: DynamicResourceAllocation, instances: plane("v1.34.4"), kubelets: k33, want: "Unknown", says: []string{"kubelet v1.33.5 on 1 node(s) (off by default in 1.33, and its own"}},
		"every gate of a stage":             {gate: AllBeta, instances: plane("v1.36.1"), kubelets: k36, want: "Unknown", says: []string{"AllBeta sets every gate of its stage", "name the gates that are needed"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, message := State(tc.gate, tc.instances, Kubelets{tc.kubelets, tc.rules})
			if got != tc.want || (message == "") != (got == metav1.ConditionTrue) {
				t.Fatalf("%s %q, want %s", got, message, tc.want)
			}
			for _, part := range tc.says {
				if !strings.Contains(message, part) {
					t.Errorf("%q does not say %q", message, part)
				}
			}
		})
	}
}
