package claim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

func TestTargets(t *testing.T) {
	team := func(v string) map[string]string { return map[string]string{"team": v} }
	cluster := []Namespace{
		{Name: "b", Labels: team("llm")}, {Name: "a", Labels: team("llm")}, {Name: "c", Labels: team("web")},
		{Name: "gone", Labels: team("llm"), Terminating: true},
	}
	for name, c := range map[string]struct {
		spec        v1alpha1.GPUClaimTemplateSpec
		write, wait []string
		err         string
	}{
		"named, in any order, twice": {spec: v1alpha1.GPUClaimTemplateSpec{Namespaces: []string{"c", "a", "c"}}, write: []string{"a", "c"}},
		"absent or on the way out":   {spec: v1alpha1.GPUClaimTemplateSpec{Namespaces: []string{"new", "a", "gone"}}, write: []string{"a"}, wait: []string{"gone", "new"}},
		"selected":                   {spec: v1alpha1.GPUClaimTemplateSpec{NamespaceSelector: &metav1.LabelSelector{MatchLabels: team("llm")}}, write: []string{"a", "b"}},
		"selects nothing":            {spec: v1alpha1.GPUClaimTemplateSpec{NamespaceSelector: &metav1.LabelSelector{MatchLabels: team("hr")}}},
		"selects everything":         {spec: v1alpha1.GPUClaimTemplateSpec{NamespaceSelector: &metav1.LabelSelector{}}, write: []string{"a", "b", "c"}},
		"neither":                    {err: "spec: exactly one of namespaces and namespaceSelector is needed, neither is there"},
		"both":                       {spec: v1alpha1.GPUClaimTemplateSpec{Namespaces: []string{"a"}, NamespaceSelector: &metav1.LabelSelector{}}, err: "both are there"},
		"no selector": {spec: v1alpha1.GPUClaimTemplateSpec{NamespaceSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "team", Operator: "Is"}}}}, err: `spec.namespaceSelector: "Is" is not a valid label selector operator`},
		"no name": {spec: v1alpha1.GPUClaimTemplateSpec{Namespaces: []string{"a", "A b"}}, err: `spec.namespaces[1]: is "A b"`},
	} {
		t.Run(name, func(t *testing.T) {
			write, wait, err := Targets(c.spec, cluster)
			if c.err != "" {
				assert.ErrorContains(t, err, c.err)
				assert.Equal(t, "InvalidSpec", reasonOf(err))
			} else {
				assert.NoError(t, err)
			}
			assert.Equal(t, c.write, write)
			assert.Equal(t, c.wait, wait)
		})
	}
}
