package claim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// Outcome is what came of one attempt to write a template everywhere.
type Outcome struct {
	// Err says why nothing could be written anywhere: what Build, Check or Targets returned.
	Err error
	// Written are the namespaces whose ResourceClaimTemplate has the present meaning.
	Written []string
	// Waiting are the namespaces that do not exist yet.
	Waiting []string
	// Failed are the namespaces where writing failed.
	Failed []Failure
	// Satisfiable is the condition of that type. The zero value: not known.
	Satisfiable metav1.Condition
}

// Failure is a namespace where writing failed.
type Failure struct {
	Namespace string
	// Reason is condition.TemplateRejected, TemplateNameTaken or TemplateWriteFailed.
	Reason string
	// Message is what the API server said, or who has the name.
	Message string
}

// failureOrder is from what only a person can mend to what may mend itself: the condition has the first that occurred.
var failureOrder = []string{condition.TemplateRejected, condition.TemplateNameTaken, condition.TemplateWriteFailed}

// maxNamed is how many namespaces a message names.
const maxNamed = 5

// Status returns the status that says what came of the spec of a generation. Conditions keep the transition time they
// have in prev as long as their status stays the same.
func Status(prev v1alpha1.GPUClaimTemplateStatus, generation int64, o Outcome, now time.Time) v1alpha1.GPUClaimTemplateStatus {
	out := v1alpha1.GPUClaimTemplateStatus{
		ObservedGeneration: generation,
		Written:            sortedSet(slices.Clone(o.Written)),
		Waiting:            sortedSet(slices.Clone(o.Waiting)),
	}
	for _, f := range o.Failed {
		out.Failed = append(out.Failed, v1alpha1.FailedNamespace{Namespace: f.Namespace, Message: f.Message})
	}
	slices.SortFunc(out.Failed, func(a, b v1alpha1.FailedNamespace) int { return strings.Compare(a.Namespace, b.Namespace) })
	out.Summary = fmt.Sprintf("%d/%d", len(out.Written), len(out.Written)+len(out.Waiting)+len(out.Failed))

	satisfiable := o.Satisfiable
	if satisfiable.Type == "" {
		satisfiable = condition.New(condition.Satisfiable, metav1.ConditionUnknown, condition.TemplateDevicesNotKnown, "The devices of the cluster have not been compared with this template.")
	}
	wanted := []metav1.Condition{ready(o, out), satisfiable}
	for i := range wanted {
		wanted[i].ObservedGeneration = generation
	}
	out.Conditions = condition.Merge(prev.Conditions, wanted, now)
	return out
}

func ready(o Outcome, s v1alpha1.GPUClaimTemplateStatus) metav1.Condition {
	not := func(reason, format string, args ...any) metav1.Condition {
		return condition.New(condition.Ready, metav1.ConditionFalse, reason, fmt.Sprintf(format, args...))
	}
	switch {
	case o.Err != nil:
		return not(reasonOf(o.Err), "%v", o.Err)
	case len(o.Failed) > 0:
		f := worst(o.Failed)
		return not(f.Reason, "Namespace %s: %s. Not written in %d of %d namespaces.", f.Namespace, strings.TrimSuffix(f.Message, "."), len(o.Failed), len(s.Written)+len(s.Waiting)+len(s.Failed))
	case len(s.Waiting) > 0:
		return not(condition.TemplateWaiting, "Waiting for namespaces that do not exist: %s.", some(s.Waiting))
	case len(s.Written) == 0:
		return not(condition.TemplateNoNamespace, "spec.namespaceSelector selects no namespace; label one, or correct the selector.")
	}
	return condition.New(condition.Ready, metav1.ConditionTrue, condition.TemplateWritten, fmt.Sprintf("Written in: %s.", some(s.Written)))
}

// worst returns the failure that comes first in failureOrder, the first namespace of several.
func worst(failed []Failure) Failure {
	return slices.MinFunc(failed, func(a, b Failure) int {
		if d := slices.Index(failureOrder, a.Reason) - slices.Index(failureOrder, b.Reason); d != 0 {
			return d
		}
		return strings.Compare(a.Namespace, b.Namespace)
	})
}

func some(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}
