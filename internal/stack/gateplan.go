package stack

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
)

// effective is what gpu-dra goes by. A gate that was on everywhere stays so while all that is in doubt are places that were seen
// on: flags that can't be read for a moment, a component whose pod is being replaced. Otherwise a DeviceClass would lose its
// extended resource name and get it back with each such moment. A new place that can't be told, or another version of a known
// one, ends it: without the gate there a pod may run without a device.
func effective(gate v1alpha1.NeededGate, prev v1alpha1.FeatureGates, now, remembered []featuregate.Instance, kubelets featuregate.Kubelets) metav1.ConditionStatus {
	if gate.State != metav1.ConditionUnknown {
		return gate.State
	}
	if state, _ := featuregate.State(gate.Name, remembered, kubelets); state != metav1.ConditionUnknown {
		return state
	}
	wasOn := slices.ContainsFunc(prev.Needed, func(p v1alpha1.NeededGate) bool {
		return p.Name == gate.Name && p.Effective == metav1.ConditionTrue
	})
	if !wasOn {
		return metav1.ConditionUnknown
	}
	var rest []featuregate.Instance
	for i := range now {
		seen := slices.ContainsFunc(prev.Instances, func(p v1alpha1.ComponentInstance) bool {
			return p.Component == now[i].Component && p.Name == now[i].Name && p.Version == now[i].Version
		})
		if remembered[i].Unreadable == "" || !seen {
			rest = append(rest, remembered[i])
		}
	}
	return featuregate.StateWhereSeen(gate.Name, rest, kubelets)
}

// actions are the steps of the plan for one gate, with the platform's way to do them.
func actions(gate string, steps []featuregate.Step, advice []featuregate.Advice) []v1alpha1.GateAction {
	var out []v1alpha1.GateAction
	for _, s := range steps {
		if s.Gate != gate || s.Do == featuregate.Nothing {
			continue
		}
		a := v1alpha1.GateAction{Component: s.Component, Version: s.Version, Instances: s.Instances, Nodes: s.Nodes, Action: string(s.Do),
			Also: s.Also, RuntimeConfig: s.APIs, Message: s.Why}
		for _, one := range advice {
			if one.Gate == gate && one.Component == s.Component && one.Version == s.Version && one.Do == s.Do && slices.Equal(one.Instances, s.Instances) {
				a.Message = fmt.Sprintf("%s; %s", s.Why, one.Text)
			}
		}
		out = append(out, a)
	}
	return out
}

// gateConflicts are those of the flags as they were last read. That a gate is given twice is not in what a status remembers of an
// instance, so this is taken over while the instance can't be read.
func gateConflicts(prev v1alpha1.FeatureGates, now, remembered []featuregate.Instance) []v1alpha1.GateConflict {
	found := featuregate.Conflicts(remembered)
	for _, p := range prev.Conflicts {
		if len(p.Values) < 2 || p.Instance == "" {
			continue
		}
		unread := slices.ContainsFunc(now, func(i featuregate.Instance) bool {
			return i.Component == p.Component && i.Name == p.Instance && i.Unreadable != ""
		})
		if unread {
			found = append(found, conflict(p))
		}
	}
	featuregate.SortConflicts(found)
	var out []v1alpha1.GateConflict
	for _, c := range found {
		out = append(out, gateConflict(c))
	}
	return out
}

// gateConflict is one of the core as a status has it.
func gateConflict(c featuregate.Conflict) v1alpha1.GateConflict {
	out := v1alpha1.GateConflict{Gate: c.Gate, Component: c.Component, Instance: c.Instance, Values: c.Values, Effective: c.Effective, Message: c.Message()}
	if c.Ahead != 0 {
		out.Ahead = fmt.Sprintf("1.%d", c.Ahead)
	}
	return out
}

// conflict is one of a status as the core has it.
func conflict(c v1alpha1.GateConflict) featuregate.Conflict {
	out := featuregate.Conflict{Gate: c.Gate, Component: c.Component, Instance: c.Instance, Values: c.Values, Effective: c.Effective}
	out.Text = strings.TrimPrefix(c.Message, out.Place()+": ")
	out.Ahead, _ = featuregate.Minor(c.Ahead)
	return out
}

// ConflictLines are the conflicts of a status as sentences, one for all instances that have the same.
func ConflictLines(gates v1alpha1.FeatureGates) []string {
	var out []featuregate.Conflict
	for _, c := range gates.Conflicts {
		out = append(out, conflict(c))
	}
	return featuregate.Lines(out)
}

func upgrade(found []featuregate.Finding) []v1alpha1.UpgradeFinding {
	var out []v1alpha1.UpgradeFinding
	for _, f := range found {
		out = append(out, v1alpha1.UpgradeFinding{To: fmt.Sprintf("1.%d", f.To), Stops: f.Stops, Gate: f.Gate, Component: f.Component,
			Instances: f.Instances, Message: f.Text})
	}
	return out
}
