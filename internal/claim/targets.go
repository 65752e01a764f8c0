package claim

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// Namespace is what matters of a Namespace here.
type Namespace struct {
	Name   string
	Labels map[string]string
	// Terminating is true when the namespace is being deleted: nothing can be created in it any more.
	Terminating bool
}

// Targets returns the namespaces that get the ResourceClaimTemplate now and those it waits for, each sorted and without
// repetition. A named namespace that is absent or on its way out is waited for; a selected one that is on its way out is
// not. The error is an Errors with the reason InvalidSpec.
func Targets(spec v1alpha1.GPUClaimTemplateSpec, namespaces []Namespace) (write, wait []string, err error) {
	p := &problems{}
	if (len(spec.Namespaces) > 0) == (spec.NamespaceSelector != nil) {
		found := "neither is there"
		if spec.NamespaceSelector != nil {
			found = "both are there"
		}
		p.invalid("spec", "exactly one of namespaces and namespaceSelector is needed, %s", found)
		return nil, nil, p.err()
	}
	if spec.NamespaceSelector != nil {
		selector, err := metav1.LabelSelectorAsSelector(spec.NamespaceSelector)
		if err != nil {
			p.invalid("spec.namespaceSelector", "%v; expected matchLabels and matchExpressions as in any label selector", err)
			return nil, nil, p.err()
		}
		for _, n := range namespaces {
			if !n.Terminating && selector.Matches(labels.Set(n.Labels)) {
				write = append(write, n.Name)
			}
		}
		return sortedSet(write), nil, nil
	}
	alive := map[string]bool{}
	for _, n := range namespaces {
		alive[n.Name] = !n.Terminating
	}
	for i, name := range spec.Namespaces {
		switch {
		case len(validation.IsDNS1123Label(name)) > 0:
			p.invalid(fmt.Sprintf("spec.namespaces[%d]", i), "is %q; a namespace has at most 63 lower case letters, digits and dashes", name)
		case alive[name]:
			write = append(write, name)
		default:
			wait = append(wait, name)
		}
	}
	if err := p.err(); err != nil {
		return nil, nil, err
	}
	return sortedSet(write), sortedSet(wait), nil
}

func sortedSet(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
