package condition_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/internal/condition"
)

var row = regexp.MustCompile(`^\| (\w+) \| (\w+) \| (.+) \| (.+) \|$`)

// documented reads the tables of a page: one heading a kind, one row a reason, each with its meaning and what to do next.
func documented(t *testing.T, page string) []condition.Entry {
	t.Helper()
	data, err := os.ReadFile(page)
	require.NoError(t, err)
	var out []condition.Entry
	kind := ""
	for _, line := range strings.Split(string(data), "\n") {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			kind = heading
		}
		m := row.FindStringSubmatch(line)
		if m == nil || m[1] == "Type" {
			continue
		}
		require.NotEmpty(t, strings.TrimSpace(m[3]), line)
		require.NotEmpty(t, strings.TrimSpace(m[4]), line)
		out = append(out, condition.Entry{Kind: kind, Type: m[1], Reason: m[2]})
	}
	return out
}

func TestEveryReasonIsDocumentedOnceInBothLanguages(t *testing.T) {
	for _, page := range []string{"../../docs/conditions.md", "../../docs/conditions.ru.md"} {
		require.ElementsMatch(t, condition.Reasons(), documented(t, page), page)
	}
}

func TestMergeKeepsTransitionTimes(t *testing.T) {
	first := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	before := condition.Merge(nil, []metav1.Condition{
		condition.New("B", metav1.ConditionTrue, "R", ""), condition.New("A", metav1.ConditionTrue, "R", ""),
		condition.New("Gone", metav1.ConditionTrue, "R", ""),
	}, first)
	after := condition.Merge(before, []metav1.Condition{
		condition.New("B", metav1.ConditionFalse, "R", ""), condition.New("A", metav1.ConditionTrue, "Other", "other"),
	}, first.Add(time.Hour))
	require.Len(t, after, 2, "a condition that is no longer wanted goes away")
	require.Equal(t, "A", after[0].Type)
	require.Equal(t, first, after[0].LastTransitionTime.Time, "another reason is no transition")
	require.Equal(t, "Other", after[0].Reason)
	require.Equal(t, first.Add(time.Hour), after[1].LastTransitionTime.Time)
}

func TestLongMessagesAreCut(t *testing.T) {
	c := condition.New("A", metav1.ConditionTrue, "R", strings.Repeat("x", 40000))
	require.LessOrEqual(t, len(c.Message), 32768)
}
