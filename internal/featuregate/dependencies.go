package featuregate

import (
	"cmp"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WithDependencies returns the needs and those that follow from them, sorted by gate: gates that a needed one depends on where it is
// on or can be set, and that are off in a component that reads them or wait for an API. To set those in the place of the needed gate
// alone would not do: others read them too, and a scheduler waits for ever for an API that nobody told the API server to serve. By
// is then the gate that was needed; what the settings need themselves keeps theirs.
func WithDependencies(needs []Need, instances []Instance, kubelets Kubelets) []Need {
	out := map[string]Need{}
	for _, need := range needs {
		out[need.Gate] = need
	}
	for _, need := range needs {
		if len(need.By) == 0 {
			continue
		}
		for _, gate := range dependenciesOf(need.Gate, instances, kubelets) {
			have := slices.ContainsFunc(needs, func(n Need) bool { return n.Gate == gate && len(n.By) > 0 })
			if have || !lacking(gate, instances, kubelets) {
				continue
			}
			by := append(slices.Clone(out[gate].By), need.Gate)
			slices.Sort(by)
			out[gate] = Need{Gate: gate, By: slices.Compact(by)}
		}
	}
	return slices.SortedFunc(maps.Values(out), func(a, b Need) int { return cmp.Compare(a.Gate, b.Gate) })
}

// dependenciesOf a gate, and theirs, in the versions in which it is on or can be set; sorted.
func dependenciesOf(gate string, instances []Instance, kubelets Kubelets) []string {
	var out []string
	for _, s := range stepsOf(gate, instances, kubelets) {
		if minor, ok := Minor(s.Version); ok && (s.State == metav1.ConditionTrue || s.Do == SetGate) {
			out = append(out, transitive(gate, minor)...)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// lacking says whether a gate is known to be off, or to wait for an API, in a component that reads it.
func lacking(gate string, instances []Instance, kubelets Kubelets) bool {
	return slices.ContainsFunc(stepsOf(gate, instances, kubelets), func(s Step) bool {
		return s.State == metav1.ConditionFalse || s.Do == ServeAPI
	})
}
