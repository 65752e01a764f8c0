package featuregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// API is a version of an API group that a gate needs at kube-apiserver and that is not served by default.
type API struct {
	Gate string
	// GroupVersion as --runtime-config names it.
	GroupVersion string
	// Resources of it that are asked for.
	Resources []string
	// From and To are the minors in which the gate needs it.
	From, To int
	// File of the Kubernetes sources (of To, or of the newest minor where To is later) in which a component asks for that version.
	File string
	// Symbol is how it asks.
	Symbol string
}

const forever = 1 << 10

// draResources are what DRA itself is made of.
var draResources = []string{"deviceclasses", "resourceclaims", "resourceclaimtemplates", "resourceslices"}

// apis tie gates to --runtime-config, by hand: nothing in the sources says that a component whose gate is on waits for an API
// that the API server does not serve. The test of internal/gen/gates looks each one up.
var apis = []API{
	{Gate: DynamicResourceAllocation, GroupVersion: "resource.k8s.io/v1beta1", Resources: draResources, From: 32, To: 33, File: "pkg/controller/resourceclaim/controller.go", Symbol: "k8s.io/api/resource/v1beta1"},
	// Up to 1.34 rules came with the gate of taints; from 1.37 on they are resource.k8s.io/v1.
	{Gate: "DRADeviceTaints", GroupVersion: "resource.k8s.io/v1alpha3", Resources: []string{"devicetaintrules"}, From: 33, To: 34, File: "pkg/scheduler/scheduler.go", Symbol: "V1alpha3().DeviceTaintRules()"},
	{Gate: "DRADeviceTaintRules", GroupVersion: "resource.k8s.io/v1alpha3", Resources: []string{"devicetaintrules"}, From: 35, To: 35, File: "pkg/scheduler/scheduler.go", Symbol: "V1alpha3().DeviceTaintRules()"},
	{Gate: "DRADeviceTaintRules", GroupVersion: "resource.k8s.io/v1beta2", Resources: []string{"devicetaintrules"}, From: 36, To: 36, File: "pkg/scheduler/scheduler.go", Symbol: "V1beta2().DeviceTaintRules()"},
	{Gate: "DRAResourcePoolStatus", GroupVersion: "resource.k8s.io/v1alpha3", Resources: []string{"resourcepoolstatusrequests"}, From: 36, To: forever, File: "cmd/kube-controller-manager/app/resource.go", Symbol: "V1alpha3().ResourcePoolStatusRequests()"},
	{Gate: "GenericWorkload", GroupVersion: "scheduling.k8s.io/v1alpha1", Resources: []string{"workloads"}, From: 35, To: 35, File: "pkg/registry/scheduling/rest/storage_scheduling.go", Symbol: "pkg/apis/scheduling/v1alpha1"},
	{Gate: "GenericWorkload", GroupVersion: "scheduling.k8s.io/v1alpha2", Resources: []string{"podgroups", "workloads"}, From: 36, To: 36, File: "pkg/registry/scheduling/rest/storage_scheduling.go", Symbol: "pkg/apis/scheduling/v1alpha2"},
	{Gate: "GenericWorkload", GroupVersion: "scheduling.k8s.io/v1beta1", Resources: []string{"podgroups", "workloads"}, From: 37, To: forever, File: "pkg/registry/scheduling/rest/storage_scheduling.go", Symbol: "pkg/apis/scheduling/v1beta1"},
}

// APIs returns every tie between a gate and an API version.
func APIs() []API { return slices.Clone(apis) }

// apisFor returns the API versions that a gate needs in a minor and that are off by default there.
func apisFor(gate string, minor int) []API {
	var out []API
	for _, a := range apis {
		if a.Gate == gate && a.From <= minor && minor <= a.To {
			out = append(out, a)
		}
	}
	return out
}

// missing returns the entries that --runtime-config lacks for resources of an API version to be served, sorted. The more specific
// key wins (ResourceEnabled in k8s.io/apiserver/pkg/server/storage): an entry that switches a resource off has to be met by one of
// that resource. What is neither GA nor named is off.
func missing(config map[string]bool, groupVersion string, resources []string, ga bool) []string {
	var out []string
	for _, resource := range resources {
		key := groupVersion + "/" + resource
		switch on, named := config[key]; {
		case named && !on:
			out = append(out, key)
		case !named && !serves(config, groupVersion, ga):
			out = append(out, groupVersion)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// serves applies --runtime-config to an API version, apart from entries of single resources.
func serves(config map[string]bool, groupVersion string, ga bool) bool {
	class := "api/ga"
	if !ga {
		class = "api/beta"
		if isAlpha(groupVersion) {
			class = "api/alpha"
		}
	}
	for _, key := range []string{groupVersion, class, "api/all"} {
		if on, ok := config[key]; ok {
			return on
		}
	}
	return ga
}

// unregistered returns, by entry of --runtime-config, why kube-apiserver of a minor version refuses to start with it: the entry
// names a version of an API group that it has and that has no such version. The value of the entry does not matter
// (k8s.io/apiserver resourceconfig, MergeAPIResourceConfigs). Only groups that gates are tied to are judged, in versions that
// the table reaches.
func unregistered(i Instance, minor int) map[string]string {
	out := map[string]string{}
	if i.Component != APIServer || i.Unreadable != "" {
		return out
	}
	have := registered[minor]
	for _, key := range slices.Sorted(maps.Keys(i.RuntimeConfig)) {
		group, groupVersion := splitEntry(key)
		known := slices.ContainsFunc(have, func(gv string) bool { return strings.HasPrefix(gv, group+"/") })
		if known && !slices.Contains(have, groupVersion) {
			out[key] = fmt.Sprintf("--runtime-config names %s, which 1.%d does not have, take the entry away", key, minor)
		}
	}
	return out
}

// splitEntry takes an entry of --runtime-config (`group/version`, `group/version/resource`) apart.
func splitEntry(key string) (group, groupVersion string) {
	group, version, _ := strings.Cut(key, "/")
	version, _, _ = strings.Cut(version, "/")
	return group, group + "/" + version
}

// gateOfEntry is the gate under which an entry of --runtime-config is reported: one that needs this version of the API, else the
// first one that needs any of its group.
func gateOfEntry(key string) string {
	group, groupVersion := splitEntry(key)
	ofGroup := ""
	for _, a := range apis {
		if a.GroupVersion == groupVersion {
			return a.Gate
		}
		if ofGroup == "" && strings.HasPrefix(a.GroupVersion, group+"/") {
			ofGroup = a.Gate
		}
	}
	return ofGroup
}

// isAlpha says whether an API version (`group/v1alpha3`) is an alpha one.
func isAlpha(groupVersion string) bool {
	_, version, _ := strings.Cut(groupVersion, "/")
	return strings.Contains(version, "alpha")
}
