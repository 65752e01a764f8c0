package stack

import (
	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
)

// sourceMetrics marks conflicts between the flags of API servers and their /metrics.
const sourceMetrics = "metrics"

// States of a cross-check.
const (
	crossAgrees      = "Agrees"
	crossDiffers     = "Differs"
	crossNotCompared = "NotCompared"
	crossUnreadable  = "Unreadable"
)

// crossCheck compares the flags of API servers with their /metrics and adds what differs to the conflicts. Nobody looked, or
// nothing could be read yet: what was known before stands.
func crossCheck(prev v1alpha1.FeatureGates, m Metrics, remembered []featuregate.Instance, conflicts []v1alpha1.GateConflict) (*v1alpha1.GateCrossCheck, []v1alpha1.GateConflict) {
	var before []featuregate.Conflict
	for _, c := range prev.Conflicts {
		if c.Source == sourceMetrics {
			before = append(before, conflict(c))
		}
	}
	looked := len(m.Answers) > 0 || m.Unreadable != ""
	differ, compared := before, false
	if len(m.Answers) > 0 {
		differ, compared = featuregate.CrossCheck(remembered, m.Answers, before)
	}
	for _, c := range differ {
		one := gateConflict(c)
		one.Source = sourceMetrics
		conflicts = append(conflicts, one)
	}
	switch {
	case !looked:
		return prev.CrossCheck.DeepCopy(), conflicts
	case m.Unreadable != "":
		return &v1alpha1.GateCrossCheck{State: crossUnreadable, Message: m.Unreadable}, conflicts
	case len(differ) > 0:
		return &v1alpha1.GateCrossCheck{State: crossDiffers}, conflicts
	case !compared:
		return &v1alpha1.GateCrossCheck{State: crossNotCompared, Message: "no flags of an API server of the version that answers are known"}, conflicts
	}
	return &v1alpha1.GateCrossCheck{State: crossAgrees}, conflicts
}

// sliceLayout is what the slices show now, or what was known before when nobody looked.
func sliceLayout(prev v1alpha1.FeatureGates, in Input) *v1alpha1.SliceLayout {
	if in.InlineCounters == nil || in.doubt(FactSlices) != "" && prev.SliceLayout != nil {
		return prev.SliceLayout.DeepCopy()
	}
	return &v1alpha1.SliceLayout{InlineCounters: sortedSet(in.InlineCounters)}
}

// inlineCounters as the core wants them: nil where nobody looked.
func inlineCounters(layout *v1alpha1.SliceLayout) []string {
	if layout == nil {
		return nil
	}
	return append([]string{}, layout.InlineCounters...)
}
