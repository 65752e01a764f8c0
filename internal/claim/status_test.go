package claim

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

var noon = time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC)

func TestStatusSaysWhatCameOfIt(t *testing.T) {
	for name, c := range map[string]struct {
		outcome          Outcome
		status           metav1.ConditionStatus
		reason, says     string
		summary          string
		written, waiting []string
	}{
		"everywhere": {Outcome{Written: []string{"b", "a"}}, metav1.ConditionTrue, condition.TemplateWritten, "Written in: a, b.", "2/2", []string{"a", "b"}, nil},
		"waits": {Outcome{Written: []string{"a"}, Waiting: []string{"z", "y"}}, metav1.ConditionFalse, condition.TemplateWaiting,
			"do not exist: y, z.", "1/3", []string{"a"}, []string{"y", "z"}},
		"nowhere":    {Outcome{}, metav1.ConditionFalse, condition.TemplateNoNamespace, "selects no namespace", "0/0", nil, nil},
		"bad":        {Outcome{Err: Errors{{condition.TemplateCELError, "spec.selectors[1]", "line 1, column 3: oh"}}}, metav1.ConditionFalse, condition.TemplateCELError, "spec.selectors[1]: line 1, column 3: oh", "0/0", nil, nil},
		"unexpected": {Outcome{Err: errors.New("oh")}, metav1.ConditionFalse, condition.TemplateInvalid, "oh", "0/0", nil, nil},
		"refused goes before taken": {Outcome{Written: []string{"a"}, Waiting: []string{"z"}, Failed: []Failure{
			{"d", condition.TemplateWriteFailed, "timeout."}, {"c", condition.TemplateNameTaken, "owned by helm"}, {"b", condition.TemplateRejected, "no such field."}}},
			metav1.ConditionFalse, condition.TemplateRejected, "Namespace b: no such field. Not written in 3 of 5 namespaces.", "1/5", []string{"a"}, []string{"z"}},
		"many": {Outcome{Waiting: []string{"1", "2", "3", "4", "5", "6", "7"}}, metav1.ConditionFalse, condition.TemplateWaiting, "1, 2, 3, 4, 5 and 2 more.", "0/7", nil, []string{"1", "2", "3", "4", "5", "6", "7"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Status(v1alpha1.GPUClaimTemplateStatus{}, 7, c.outcome, noon)
			ready := condition.Find(got.Conditions, "Ready")
			require.NotNil(t, ready)
			assert.Equal(t, c.status, ready.Status)
			assert.Equal(t, c.reason, ready.Reason)
			assert.Contains(t, ready.Message, c.says)
			assert.Equal(t, int64(7), ready.ObservedGeneration)
			assert.Equal(t, int64(7), got.ObservedGeneration)
			assert.Equal(t, c.summary, got.Summary)
			assert.Equal(t, c.written, got.Written)
			assert.Equal(t, c.waiting, got.Waiting)
			assert.Equal(t, metav1.ConditionUnknown, condition.Find(got.Conditions, "Satisfiable").Status)
		})
	}
}

func TestStatusIsTheSameTwice(t *testing.T) {
	o := Outcome{Written: []string{"b", "a"}, Failed: []Failure{{"d", condition.TemplateWriteFailed, "x"}, {"c", condition.TemplateWriteFailed, "y"}},
		Satisfiable: condition.New(condition.Satisfiable, metav1.ConditionTrue, condition.TemplateSatisfiable, "8 devices match.")}
	first := Status(v1alpha1.GPUClaimTemplateStatus{}, 1, o, noon)
	assert.Equal(t, []v1alpha1.FailedNamespace{{Namespace: "c", Message: "y"}, {Namespace: "d", Message: "x"}}, first.Failed)
	assert.Equal(t, first, Status(first, 1, o, noon.Add(time.Hour)), "nothing changed, so nothing is written")
	assert.Equal(t, []string{"b", "a"}, o.Written, "the caller's own list stays as it was")

	o.Failed = nil
	later := Status(first, 2, o, noon.Add(time.Hour))
	assert.Equal(t, noon.Add(time.Hour), condition.Find(later.Conditions, "Ready").LastTransitionTime.Time)
	assert.Equal(t, noon, condition.Find(later.Conditions, "Satisfiable").LastTransitionTime.Time)
}
