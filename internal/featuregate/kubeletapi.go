package featuregate

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// kubeletAPI is the version of resource.k8s.io that kubelets below kubeletAPIUntil speak, and no other
	// (ResourceV1beta1() in pkg/kubelet/cm/dra/manager.go of 1.33).
	kubeletAPI = "resource.k8s.io/v1beta1"
	// kubeletAPIUntil is the first minor whose kubelets speak v1. API servers of no minor serve kubeletAPI by default.
	kubeletAPIUntil = 34
)

// kubeletAPIResources are what kubelets ask for in it.
var kubeletAPIResources = []string{"resourceclaims", "resourceslices"}

// oldKubelets is the number of kubelets of listed node groups that speak kubeletAPI only.
func (c Cluster) oldKubelets() int32 {
	var old int32
	for version, count := range c.kubelets() {
		if minor, ok := Minor(version); ok && minor < kubeletAPIUntil {
			old += count
		}
	}
	return old
}

// kubelets by version: those that were only counted, and those that were read.
func (c Cluster) kubelets() map[string]int32 {
	out := map[string]int32{}
	read := instancesOf(Kubelet, c.Instances)
	for _, i := range read {
		out[i.Version]++
	}
	for _, v := range (Kubelets{Versions: c.Kubelets}).unread(read) {
		out[v.Version] += v.Count
	}
	return out
}

// oldestKubelet is the minor of the oldest kubelet whose version is known, 0 without any.
func (c Cluster) oldestKubelet() int {
	oldest := 0
	for version := range c.kubelets() {
		if minor, ok := Minor(version); ok && (oldest == 0 || minor < oldest) {
			oldest = minor
		}
	}
	return oldest
}

// withoutKubeletAPI returns the API servers that are known not to serve kubeletAPI: by their flags, or where none can be judged by
// those, one without a name by what the API server that answers serves. known is false where neither is to be had.
func (c Cluster) withoutKubeletAPI() (servers []Instance, known bool) {
	for _, i := range instancesOf(APIServer, c.Instances) {
		off := len(missing(i.RuntimeConfig, kubeletAPI, kubeletAPIResources, false)) > 0
		if i.Unreadable != "" || off && i.File != "" {
			continue
		}
		known = true
		if off {
			servers = append(servers, i)
		}
	}
	if known || len(c.ResourceAPIs) == 0 {
		return servers, known
	}
	// It is off by default in each of these versions: where it is served, a flag says so, and stays.
	if !slices.Contains(c.ResourceAPIs, strings.TrimPrefix(kubeletAPI, "resource.k8s.io/")) {
		servers = []Instance{{Component: APIServer, Version: c.Version}}
	}
	return servers, true
}

// ForOldKubelets returns the steps without which kubelets below 1.34 can't read claims: of API servers from 1.34 on that are known not
// to serve the version that these speak. Before that it goes with the gate of DRA itself.
func ForOldKubelets(c Cluster) []Step {
	old := c.oldKubelets()
	needed := slices.ContainsFunc(c.Needs, func(n Need) bool { return n.Gate == DynamicResourceAllocation && len(n.By) > 0 })
	if old == 0 || !needed {
		return nil
	}
	var out []Step
	servers, _ := c.withoutKubeletAPI()
	for _, i := range servers {
		minor, ok := Minor(i.Version)
		if !ok || minor < kubeletAPIUntil || !slices.Contains(registered[minor], kubeletAPI) {
			continue
		}
		s := Step{Gate: DynamicResourceAllocation, Component: APIServer, Version: i.Version, State: metav1.ConditionUnknown, Do: ServeAPI,
			APIs: missing(i.RuntimeConfig, kubeletAPI, kubeletAPIResources, false),
			Why: fmt.Sprintf("%d kubelet(s) below 1.%d speak no other version, so pods with claims do not start there: upgrade them, or serve it until they are",
				old, kubeletAPIUntil)}
		if i.Name != "" {
			s.Instances = []string{i.Name}
			if val := i.value(DynamicResourceAllocation); val.known {
				s.State = conditionOf(val.on)
			}
		}
		out = append(out, s)
	}
	return merged(out)
}

func conditionOf(on bool) metav1.ConditionStatus {
	if on {
		return metav1.ConditionTrue
	}
	return metav1.ConditionFalse
}

// kubeletAPI reports kubelets that an API server of 1.34 leaves without the version that they speak.
func (f findings) kubeletAPI(c Cluster, from, to int) {
	old := c.oldKubelets()
	if old == 0 || max(from, to) < kubeletAPIUntil {
		return
	}
	found := Finding{To: kubeletAPIUntil, Stops: true, Component: APIServer, Text: fmt.Sprintf(
		"%d kubelet(s) below 1.%d speak %s only: upgrade them with it, or keep --runtime-config=%s=true until they are", old, kubeletAPIUntil, kubeletAPI, kubeletAPI)}
	for _, fixed := range c.Rules.FixedAPIs {
		if fixed.GroupVersion == kubeletAPI && !fixed.Holds(kubeletAPIUntil) {
			found.Text += fmt.Sprintf("; the platform takes that entry away with 1.%d by itself", kubeletAPIUntil)
			if from < kubeletAPIUntil {
				f.add(found)
				return
			}
		}
	}
	servers, known := c.withoutKubeletAPI()
	for _, i := range servers {
		one := found
		if i.Name != "" {
			one.Instances = []string{i.Name}
		}
		f.add(one)
	}
	if !known {
		found.Stops = false
		found.Text += "; whether it is served is not known"
		f.add(found)
	}
}
