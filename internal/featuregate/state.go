package featuregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// State tells whether a gate is on in every instance of every component that reads it: False when it is off in one,
// Unknown when one can't be told or a component has no instance. The message names the places and says what to do; it is
// empty for True.
//
// kubelets are the kubelet versions of the nodes that matter. A kubelet's own configuration can't be seen: where the gate
// is off by default it is Unknown, where it is on by default it counts as on, unless an instance shows otherwise.
func State(name string, instances []Instance, kubelets []v1alpha1.VersionCount) (metav1.ConditionStatus, string) {
	return state(name, instances, kubelets, false)
}

// StateWhereSeen is State without the doubt about components of which no instance is seen at all.
func StateWhereSeen(name string, instances []Instance, kubelets []v1alpha1.VersionCount) metav1.ConditionStatus {
	status, _ := state(name, instances, kubelets, true)
	return status
}

func state(name string, instances []Instance, kubelets []v1alpha1.VersionCount, mayMiss bool) (metav1.ConditionStatus, string) {
	readers := Readers(name)
	if readers == nil {
		return metav1.ConditionUnknown, notKnown(name)
	}
	v := verdict{gate: name}
	for _, component := range readers {
		of := instancesOf(component, instances)
		if component == Kubelet {
			v.kubelets(of, kubelets, mayMiss)
			continue
		}
		if len(of) == 0 && !mayMiss {
			v.unknown = append(v.unknown, "no "+component+" was seen")
		}
		for _, i := range of {
			v.instance(i)
		}
	}
	return v.result()
}

func notKnown(name string) string {
	message := fmt.Sprintf("no Kubernetes version from 1.%d to 1.%d has a gate %s that gpu-dra knows: check the name", oldest, newest, name)
	if n := nearest(name); n != "" {
		message += ", perhaps " + n
	}
	return message
}

func instancesOf(component string, all []Instance) []Instance {
	var out []Instance
	for _, i := range all {
		if i.Component == component {
			out = append(out, i)
		}
	}
	slices.SortStableFunc(out, func(a, b Instance) int { return cmp.Compare(a.Name, b.Name) })
	return out
}

// verdict collects where a gate is off and where that can't be told.
type verdict struct {
	gate         string
	off, unknown []string
}

func (v *verdict) instance(i Instance) {
	switch val := i.value(v.gate); {
	case !val.known:
		v.unknown = append(v.unknown, fmt.Sprintf("%s (%s)", i, val.why))
	case !val.on:
		v.off = append(v.off, fmt.Sprintf("%s (%s)", i, val.why))
	}
}

func (v *verdict) kubelets(shown []Instance, versions []v1alpha1.VersionCount, mayMiss bool) {
	on := map[string]int32{}
	for _, i := range shown {
		v.instance(i)
		if val := i.value(v.gate); val.known && val.on {
			on[i.Version]++
		}
	}
	if len(versions) == 0 && len(shown) == 0 && !mayMiss {
		v.unknown = append(v.unknown, "no kubelet of a listed node group was seen")
	}
	for _, version := range slices.SortedFunc(slices.Values(versions), func(a, b v1alpha1.VersionCount) int { return cmp.Compare(a.Version, b.Version) }) {
		kubelets := fmt.Sprintf("kubelet %s on %d node(s)", version.Version, version.Count)
		minor, ok := Minor(version.Version)
		val := Instance{}.valueAt(v.gate, minor)
		_, p := lookup(v.gate, minor)
		switch {
		case on[version.Version] >= version.Count || ok && val.known && val.on:
		case !ok:
			v.unknown = append(v.unknown, kubelets+" (not a Kubernetes version)")
		case val.known && p != present:
			v.off = append(v.off, fmt.Sprintf("%s (%s)", kubelets, val.why))
		default:
			v.unknown = append(v.unknown, fmt.Sprintf("%s (%s, its own configuration can't be seen)", kubelets, val.why))
		}
	}
}

func (v *verdict) result() (metav1.ConditionStatus, string) {
	switch {
	case len(v.off) > 0:
		message := fmt.Sprintf("off in %s: set %s=true there", strings.Join(v.off, ", "), v.gate)
		if len(v.unknown) > 0 {
			message += "; not known: " + strings.Join(v.unknown, ", ")
		}
		return metav1.ConditionFalse, message
	case len(v.unknown) > 0:
		return metav1.ConditionUnknown, fmt.Sprintf("not known: %s; make sure that %s=true is set there", strings.Join(v.unknown, ", "), v.gate)
	}
	return metav1.ConditionTrue, ""
}
