package stack

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
)

// gatesConsistent is False for a needed gate that is off or waits for an API that is not served, and for what is wrong with gates
// as they are set; Unknown when the settings need a gate that is in no table or one whose state can't be told, or when an API
// server's /metrics differs from its flags; else True. What only the next Kubernetes version refuses, and a value that is given
// twice, is said, but is no fault yet.
func gatesConsistent(in Input, s v1alpha1.GPUStackStatus) metav1.Condition {
	var off, unheard, unknown, on []string
	for _, g := range s.FeatureGates.Needed {
		about := fmt.Sprintf("%s (needed by %s): ", g.Name, named(g.NeededBy, itself))
		text, api := about+g.Message, unserved(g)
		switch {
		case len(g.NeededBy) == 0:
		// No flag could say more of it: most likely the name is misspelled.
		case !featuregate.InTable(g.Name):
			unheard = append(unheard, fmt.Sprintf("gpu-dra knows no Kubernetes feature gate %s; check the name in %s", g.Name, named(g.NeededBy, itself)))
		case api != "" && g.State == metav1.ConditionTrue:
			off = append(off, about+"on, but "+api)
		case api != "":
			off = append(off, about+api+"; "+g.Message)
		case g.State == metav1.ConditionFalse:
			off = append(off, text)
		case g.State == metav1.ConditionUnknown:
			unknown = append(unknown, text)
		default:
			on = append(on, g.Name)
		}
	}
	if text := notServed(in, s); text != "" {
		off = append(off, text)
	}
	var now, later, said, harmless []featuregate.Conflict
	for _, c := range s.FeatureGates.Conflicts {
		switch {
		case c.Source == sourceMetrics:
			said = append(said, conflict(c))
		case conflict(c).Harmless():
			harmless = append(harmless, conflict(c))
		case c.Ahead != "":
			later = append(later, conflict(c))
		default:
			now = append(now, conflict(c))
		}
	}
	wrong, ahead, differ := featuregate.Lines(now), featuregate.Lines(later), featuregate.Lines(said)
	is := func(status metav1.ConditionStatus, reason string, parts ...string) metav1.Condition {
		if twice := featuregate.Lines(harmless); len(twice) > 0 {
			parts = append(parts, "given more than once: "+named(twice, itself))
		}
		if len(ahead) > 0 {
			parts = append(parts, "before the next Kubernetes upgrade: "+named(ahead, itself))
		}
		parts = slices.DeleteFunc(parts, func(p string) bool { return p == "" })
		return condition.New(condition.FeatureGatesConsistent, status, reason, strings.Join(parts, ". "))
	}
	names, doubts, metrics := strings.Join(unheard, ". "), named(unknown, itself), named(differ, itself)
	switch {
	case len(off) > 0:
		return is(metav1.ConditionFalse, condition.StackGatesOff, named(off, itself), named(wrong, itself), names, doubts, metrics)
	case len(wrong) > 0:
		return is(metav1.ConditionFalse, condition.StackGatesConflict, named(wrong, itself), names, doubts, metrics)
	case len(unheard) > 0:
		return is(metav1.ConditionUnknown, condition.StackGatesUnknownName, names, doubts, metrics)
	case len(differ) > 0:
		return is(metav1.ConditionUnknown, condition.StackGatesMetrics, metrics, doubts)
	case len(unknown) > 0:
		return is(metav1.ConditionUnknown, condition.StackGatesUnknown, doubts)
	case in.Settings == nil && len(on) == 0:
		return is(metav1.ConditionUnknown, condition.StackGatesUnknown, "the settings were not read yet, so it is not known which gates are needed")
	case len(on) == 0:
		return is(metav1.ConditionTrue, condition.StackGatesOn, "the settings need no Kubernetes feature gate")
	}
	return is(metav1.ConditionTrue, condition.StackGatesOn, "on in every component that reads them: "+strings.Join(on, ", "))
}

// unserved says what of an API somebody waits for that the API server does not serve, and who, "" where nobody does.
func unserved(g v1alpha1.NeededGate) string {
	var parts []string
	for _, a := range g.Actions {
		if a.Action == string(featuregate.ServeAPI) {
			parts = append(parts, fmt.Sprintf("the API server does not serve %s: add it to --runtime-config (%s)", strings.Join(a.RuntimeConfig, ", "), a.Message))
		}
	}
	return strings.Join(parts, "; ")
}

// notServed says that the one API version gpu-dra uses is not there, where that is known.
func notServed(in Input, s v1alpha1.GPUStackStatus) string {
	if in.doubt(FactResourceAPIs) != "" || s.KubernetesVersion == "" || slices.Contains(s.ResourceAPIs, "v1") {
		return ""
	}
	served := "none"
	if len(s.ResourceAPIs) > 0 {
		served = strings.Join(s.ResourceAPIs, ", ")
	}
	return fmt.Sprintf("resource.k8s.io/v1 is not served by the API server %s (served: %s): it needs Kubernetes 1.34 or newer, "+
		"DynamicResourceAllocation on and no --runtime-config that turns it off", s.KubernetesVersion, served)
}
