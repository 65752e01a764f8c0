package condition

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// maxMessage is what the API allows in a condition's message (metav1.Condition).
const maxMessage = 32768

// New is one condition without its transition time.
func New(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	if len(message) > maxMessage {
		message = message[:maxMessage-3] + "..."
	}
	return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message}
}

// Merge returns the wanted conditions sorted by type, each with the lastTransitionTime it had in previous if its status
// is the same, now otherwise. A condition that is not wanted goes away.
func Merge(previous, wanted []metav1.Condition, now time.Time) []metav1.Condition {
	out := slices.Clone(wanted)
	for i := range out {
		out[i].LastTransitionTime = metav1.NewTime(now.Truncate(time.Second))
		for _, p := range previous {
			if p.Type == out[i].Type && p.Status == out[i].Status && !p.LastTransitionTime.IsZero() {
				out[i].LastTransitionTime = p.LastTransitionTime
			}
		}
	}
	slices.SortFunc(out, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	return out
}

// Find returns the condition of a type, or nil.
func Find(conditions []metav1.Condition, conditionType string) *metav1.Condition {
	for i := range conditions {
		if conditions[i].Type == conditionType {
			return &conditions[i]
		}
	}
	return nil
}
