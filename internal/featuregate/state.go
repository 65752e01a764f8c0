package featuregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// State tells whether a gate is on in every instance of every component that reads it: False when it is off in one,
// Unknown when one can't be told or a component has no instance. The message names the places and says what to do; it is
// empty for True.
//
// The own configuration of a kubelet that is no instance can't be seen: where the gate is on by default or set by the platform it
// counts as on, where it is off by default it is Unknown.
func State(name string, instances []Instance, kubelets Kubelets) (metav1.ConditionStatus, string) {
	return state(name, instances, kubelets, false)
}

// StateWhereSeen is State without the doubt about components of which no instance is seen at all.
func StateWhereSeen(name string, instances []Instance, kubelets Kubelets) metav1.ConditionStatus {
	status, _ := state(name, instances, kubelets, true)
	return status
}

func state(name string, instances []Instance, kubelets Kubelets, mayMiss bool) (metav1.ConditionStatus, string) {
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
			v.unknown = append(v.unknown, noneSeen(component))
		}
		for _, i := range of {
			v.add(i.value(name), i.String())
		}
	}
	return v.result()
}

func noneSeen(component string) string {
	if component == Kubelet {
		return "no kubelet of a listed node group was seen"
	}
	return "no " + component + " was seen"
}

func notKnown(name string) string {
	if groupGate(name) {
		return name + " sets every gate of its stage, which are others in each version: name the gates that are needed"
	}
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

func (v *verdict) add(val value, place string) {
	switch {
	case !val.known:
		v.unknown = append(v.unknown, fmt.Sprintf("%s (%s)", place, val.why))
	case !val.on:
		v.off = append(v.off, fmt.Sprintf("%s (%s)", place, val.why))
	}
}

func (v *verdict) kubelets(read []Instance, k Kubelets, mayMiss bool) {
	if len(read)+len(k.Versions) == 0 && !mayMiss {
		v.unknown = append(v.unknown, noneSeen(Kubelet))
	}
	// There may be hundreds that differ in nothing but the name.
	names := map[value][]string{}
	var order []value
	for _, i := range read {
		val := i.value(v.gate)
		if names[val] == nil {
			order = append(order, val)
		}
		names[val] = append(names[val], i.Name)
	}
	for _, val := range order {
		v.add(val, Kubelet+" "+Few(names[val]))
	}
	for _, rest := range k.unread(read) {
		v.add(k.value(v.gate, rest.Version), fmt.Sprintf("kubelet %s on %d node(s)", rest.Version, rest.Count))
	}
}

// fewest is how many names of a list are shown: those of three control plane nodes are.
const fewest = 10

// Few joins names, the first ones where there are many.
func Few(names []string) string {
	if rest := len(names) - fewest; rest > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:fewest], ", "), rest)
	}
	return strings.Join(names, ", ")
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
