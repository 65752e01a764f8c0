// Package gates reads the feature gates a test cluster's components are started with.
package gates

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Components that take --feature-gates.
var components = append([]string{Kubelet}, controlPlane...)

var controlPlane = []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"}

// Kubelet is that of a real node; the fake ones have none.
const Kubelet = "kubelet"

// Set is component → gate → on or off.
type Set map[string]map[string]bool

// Parse reads entries of the form "kube-apiserver=GateA=true,GateB=false". A gate given
// twice keeps its last value.
func Parse(entries []string) (Set, error) {
	set := Set{}
	for _, entry := range entries {
		component, list, ok := strings.Cut(entry, "=")
		if !ok || list == "" {
			return nil, fmt.Errorf("feature gates %q: expected COMPONENT=Gate=true[,Gate=false]", entry)
		}
		if !slices.Contains(components, component) {
			return nil, fmt.Errorf("feature gates %q: component %q is not one of %s", entry, component, strings.Join(components, ", "))
		}
		for _, item := range strings.Split(list, ",") {
			name, value, ok := strings.Cut(item, "=")
			on, err := strconv.ParseBool(value)
			if !ok || name == "" || err != nil {
				return nil, fmt.Errorf("feature gates %q: found %q, expected Gate=true or Gate=false", entry, item)
			}
			set.put(component, name, on)
		}
	}
	return set, nil
}

func (s Set) put(component, gate string, on bool) {
	if s[component] == nil {
		s[component] = map[string]bool{}
	}
	s[component][gate] = on
}

// Over returns base with the gates of s on top.
func (s Set) Over(base Set) Set {
	merged := Set{}
	for _, layer := range []Set{base, s} {
		for component, gates := range layer {
			for gate, on := range gates {
				merged.put(component, gate, on)
			}
		}
	}
	return merged
}

// Flag is the component's --feature-gates argument, "" where it has no gates. Gates are
// sorted: the same gates give the same arguments.
func (s Set) Flag(component string) string {
	gates := s[component]
	if len(gates) == 0 {
		return ""
	}
	var items []string
	for _, gate := range slices.Sorted(maps.Keys(gates)) {
		items = append(items, gate+"="+strconv.FormatBool(gates[gate]))
	}
	return "--feature-gates=" + strings.Join(items, ",")
}

// Deckhouse is what Deckhouse sets in its control plane templates from Kubernetes 1.34
// on, whatever the user's settings are: the only DRA gates a user of 1.34 gets there.
func Deckhouse() Set {
	set := Set{}
	for _, component := range controlPlane {
		for _, gate := range []string{"DRAPartitionableDevices", "DRADeviceBindingConditions",
			"DRAConsumableCapacity", "DRAExtendedResource"} {
			set.put(component, gate, true)
		}
	}
	return set
}
