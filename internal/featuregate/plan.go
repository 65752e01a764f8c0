package featuregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Todo is what a step of the plan asks for.
type Todo string

// What a step may ask for.
const (
	// Nothing: the gate is on there, or nobody needs it.
	Nothing Todo = ""
	// SetGate: set the gate to true, and those of Also with it.
	SetGate Todo = "SetGate"
	// ServeAPI: the gate is on, but the API server does not serve what it needs.
	ServeAPI Todo = "ServeAPI"
	// RemoveGate: take the gate out of the flags.
	RemoveGate Todo = "RemoveGate"
	// UpgradeKubernetes: this version does not have the gate yet.
	UpgradeKubernetes Todo = "UpgradeKubernetes"
	// Look: the flags can't be seen.
	Look Todo = "Look"
	// NotPossible: no flag switches it on there.
	NotPossible Todo = "NotPossible"
)

// Step is what one component of one version needs for one gate.
type Step struct {
	Gate, Component string
	// Version of the component, empty when it is not known.
	Version string
	// Instances that it is about, sorted; for kubelets that were not read, none.
	Instances []string
	// Nodes is the number of kubelets.
	Nodes int32
	// State of the gate there.
	State metav1.ConditionStatus
	Do    Todo
	// Also are gates that it depends on and that are to be set to true in the same place, sorted. What other components need for them
	// stands in the steps of these gates.
	Also []string
	// APIs are versions, or resources of them, that --runtime-config of kube-apiserver has to switch on for it, sorted.
	APIs []string
	// Why says how the gate stands there.
	Why string
}

// Plan says for each needed gate and each component that reads it how it stands and what is to be done, one step for all
// instances of a component that are alike; the gates that a needed one depends on and that are off are needed like it
// (WithDependencies). It never asks for a gate that a version does not know or has locked, nor for one whose dependency would stay
// off. A gate that is only observed (Need without By) is shown and nothing is asked of it.
func Plan(needs []Need, instances []Instance, kubelets Kubelets) []Step {
	var out []Step
	for _, need := range WithDependencies(needs, instances, kubelets) {
		steps := stepsOf(need.Gate, instances, kubelets)
		for n := range steps {
			if len(need.By) == 0 {
				steps[n].Do, steps[n].Also, steps[n].APIs = Nothing, nil, nil
			}
			out = append(out, steps[n])
		}
	}
	return out
}

// stepsOf a gate that somebody needs, by component that reads it.
func stepsOf(gate string, instances []Instance, kubelets Kubelets) []Step {
	var out []Step
	for _, component := range Readers(gate) {
		var steps []Step
		of := instancesOf(component, instances)
		for _, i := range of {
			steps = append(steps, i.step(gate))
		}
		if component == Kubelet {
			for _, v := range kubelets.unread(of) {
				steps = append(steps, kubelets.step(gate, v))
			}
		}
		if len(steps) == 0 {
			steps = []Step{{Gate: gate, Component: component, State: metav1.ConditionUnknown, Do: Look, Why: noneSeen(component)}}
		}
		out = append(out, merged(steps)...)
	}
	return out
}

// step of one gate in one instance.
func (i Instance) step(gate string) Step {
	out := Step{Gate: gate, Component: i.Component, Version: i.Version, Instances: []string{i.Name}, State: metav1.ConditionUnknown}
	if i.Component == Kubelet {
		out.Nodes = 1
	}
	val := i.value(gate)
	out.Why = val.why
	minor, ok := Minor(i.Version)
	switch {
	case !val.known, !ok:
		out.Do = Look
	case val.on:
		out.State = metav1.ConditionTrue
	default:
		out.State = metav1.ConditionFalse
		out.Do, out.Also, out.Why = i.remedy(gate, minor, val)
	}
	if ok && i.Component == APIServer && (out.Do == SetGate || val.known && val.on) {
		for _, api := range apisFor(gate, minor) {
			out.APIs = append(out.APIs, missing(i.RuntimeConfig, api.GroupVersion, api.Resources, false)...)
		}
		if len(out.APIs) > 0 && out.Do == Nothing {
			out.Do = ServeAPI
		}
	}
	return out
}

// remedy for a gate that is off in an instance.
func (i Instance) remedy(gate string, minor int, val value) (do Todo, also []string, why string) {
	switch s, p := lookup(gate, minor); {
	case p == notYet:
		return UpgradeKubernetes, nil, fmt.Sprintf("%s; 1.%d is the first that has it", val.why, table[gate].specs[0].from)
	case p != present:
		return NotPossible, nil, val.why
	case s.locked && s.on:
		return RemoveGate, nil, fmt.Sprintf("%s to false, but locked to true since 1.%d", val.why, s.from)
	case s.locked:
		return NotPossible, nil, fmt.Sprintf("locked to false since 1.%d", s.from)
	}
	if s, p := lookup(gate, i.effective(minor)); p != present || s.locked {
		return NotPossible, nil, fmt.Sprintf("%s, and --emulated-version=1.%d does not let it be set", val.why, i.effective(minor))
	}
	for _, need := range transitive(gate, minor) {
		dep := i.valueAt(need, minor)
		if !dep.known || dep.on {
			continue
		}
		s, p := lookup(need, i.effective(minor))
		if p != present || s.locked {
			return NotPossible, nil, fmt.Sprintf("%s, and %s, which it depends on, is off and cannot be set (%s)", val.why, need, dep.why)
		}
		also = append(also, need)
	}
	return SetGate, also, val.why
}

// transitive returns all that a gate depends on in a minor, sorted, of gates that the minor has.
func transitive(gate string, minor int) []string {
	var out []string
	queue := []string{gate}
	for len(queue) > 0 {
		for _, need := range needsOf(queue[0], minor) {
			if _, p := lookup(need, minor); p == present && !slices.Contains(out, need) {
				out = append(out, need)
				queue = append(queue, need)
			}
		}
		queue = queue[1:]
	}
	slices.Sort(out)
	return out
}

// merged makes one step of those that differ in nothing but the instance.
func merged(steps []Step) []Step {
	var out []Step
	for _, s := range steps {
		at := slices.IndexFunc(out, func(o Step) bool {
			return o.Version == s.Version && (o.Instances == nil) == (s.Instances == nil) && o.State == s.State && o.Do == s.Do && o.Why == s.Why && slices.Equal(o.Also, s.Also) && slices.Equal(o.APIs, s.APIs)
		})
		if at < 0 {
			out = append(out, s)
			continue
		}
		out[at].Instances = append(out[at].Instances, s.Instances...)
		out[at].Nodes += s.Nodes
	}
	for n := range out {
		slices.Sort(out[n].Instances)
	}
	slices.SortFunc(out, func(a, b Step) int {
		return cmp.Or(cmp.Compare(a.Version, b.Version), cmp.Compare(strings.Join(a.Instances, ","), strings.Join(b.Instances, ",")))
	})
	return out
}
