package stack

import (
	"cmp"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Gates returns the block of a status anew, from what the status itself has: with the rules of a distribution, and with what
// gets in the way of upgrades up to a minor. It knows no more of the cluster than the controller did that wrote the status, but
// for the kubelets that were read since.
func Gates(s v1alpha1.GPUStackStatus, d profile.Distribution, to int, kubelets []featuregate.Instance) v1alpha1.FeatureGates {
	in := Input{Synced: true, Distribution: d, Instances: append(recorded(s), kubelets...)}
	out := featureGates(s.FeatureGates, in, s, to)
	// That a gate is given twice, and what /metrics said, stands in the conflicts only.
	out.Conflicts = slices.Clone(s.FeatureGates.Conflicts)
	for _, c := range featuregate.Conflicts(kubelets) {
		out.Conflicts = append(out.Conflicts, gateConflict(c))
	}
	return out
}

// ServerMinor is the minor of the oldest API server that a status knows of, 0 when it knows none.
func ServerMinor(s v1alpha1.GPUStackStatus) int {
	return featuregate.OldestServer(recorded(s), s.KubernetesVersion)
}

func recorded(s v1alpha1.GPUStackStatus) []featuregate.Instance {
	var out []featuregate.Instance
	for _, i := range s.FeatureGates.Instances {
		out = append(out, featuregate.FromRecord(i))
	}
	return out
}

// featureGates fills the block of the status, of which the versions and the served APIs are there. Needed also holds gates that
// nobody needs but whose state switches something on: those have no neededBy.
func featureGates(prev v1alpha1.FeatureGates, in Input, s v1alpha1.GPUStackStatus, to int) v1alpha1.FeatureGates {
	kubelets := featuregate.Kubelets{Versions: s.KubeletVersions, Rules: in.Distribution.FeatureGates}
	now := slices.Clone(in.Instances)
	if len(now) == 0 {
		if doubt := in.doubt(FactInstances); doubt != "" {
			now = unread(prev.Instances, doubt)
		}
	}
	var out v1alpha1.FeatureGates
	remembered := remember(prev.Instances, now)
	for i := range now {
		out.Instances = append(out.Instances, featuregate.Record(now[i], remembered[i]))
	}
	slices.SortFunc(out.Instances, func(a, b v1alpha1.ComponentInstance) int {
		return cmp.Or(cmp.Compare(a.Component, b.Component), cmp.Compare(a.Name, b.Name))
	})
	out.SliceLayout = sliceLayout(prev, in)
	wanted := featuregate.WithDependencies(needs(prev, in), remembered, kubelets)
	cluster := featuregate.Cluster{Instances: remembered, Version: s.KubernetesVersion, ResourceAPIs: s.ResourceAPIs, Kubelets: s.KubeletVersions,
		Needs: wanted, InlineCounters: inlineCounters(out.SliceLayout), Rules: in.Distribution.FeatureGates}
	steps := append(featuregate.ForOldKubelets(cluster), featuregate.Plan(wanted, remembered, kubelets)...)
	advice := featuregate.Advise(steps, in.Distribution.FeatureGates)
	for _, need := range wanted {
		gate := v1alpha1.NeededGate{Name: need.Gate, NeededBy: need.By, Components: featuregate.Readers(need.Gate)}
		gate.State, gate.Message = featuregate.State(need.Gate, now, kubelets)
		if gate.State == metav1.ConditionUnknown {
			gate.Message += lastState(need.Gate, now, remembered, kubelets)
		}
		gate.Effective = effective(gate, prev, now, remembered, kubelets)
		gate.Actions = actions(need.Gate, steps, advice)
		out.Needed = append(out.Needed, gate)
	}
	out.Conflicts = gateConflicts(prev, now, remembered)
	out.CrossCheck, out.Conflicts = crossCheck(prev, in.Metrics, remembered, out.Conflicts)
	out.Distribution = in.Distribution.Name
	if out.Distribution == "" {
		out.Distribution = prev.Distribution
	}
	out.Upgrade = upgrade(featuregate.Preflight(cluster, to))
	if in.Distribution.FeatureGates.Setting == "" {
		changes := featuregate.Changes(steps)
		out.Fragments = v1alpha1.GateFragments{Kubeadm: featuregate.Kubeadm(changes), KubeletConfiguration: featuregate.KubeletConfiguration(changes)}
	}
	return out
}

// needs are what the settings need; before there are settings, what an earlier controller found.
func needs(prev v1alpha1.FeatureGates, in Input) []featuregate.Need {
	if in.Settings != nil {
		return featuregate.Needed(in.Settings, in.Profiles)
	}
	var out []featuregate.Need
	for _, g := range prev.Needed {
		out = append(out, featuregate.Need{Gate: g.Name, By: slices.Clone(g.NeededBy)})
	}
	return out
}

// unread are the instances that were known, none of which could be read now.
func unread(prev []v1alpha1.ComponentInstance, why string) []featuregate.Instance {
	var out []featuregate.Instance
	for _, p := range prev {
		out = append(out, featuregate.Instance{Component: p.Component, Name: p.Name, Version: p.Version, Unreadable: why})
	}
	return out
}

// remember returns the instances with the flags last read, by the same version, in place of those that can't be read now.
func remember(prev []v1alpha1.ComponentInstance, now []featuregate.Instance) []featuregate.Instance {
	out := slices.Clone(now)
	for i := range out {
		if out[i].Unreadable == "" {
			continue
		}
		for _, p := range prev {
			if p.Component == out[i].Component && p.Name == out[i].Name && p.Version == out[i].Version && (p.Unreadable == "" || p.Remembered) {
				out[i].Flags, out[i].Unreadable = featuregate.Recorded(p), ""
			}
		}
	}
	return out
}

// lastState says what the flags that were last read would mean for a gate, "" when they say nothing.
func lastState(gate string, now, remembered []featuregate.Instance, kubelets featuregate.Kubelets) string {
	same := true
	for i := range now {
		same = same && now[i].Unreadable == remembered[i].Unreadable
	}
	if same {
		return ""
	}
	switch state, _ := featuregate.State(gate, remembered, kubelets); state {
	case metav1.ConditionTrue:
		return "; by what was last read it is on"
	case metav1.ConditionFalse:
		return "; by what was last read it is off"
	}
	return ""
}
