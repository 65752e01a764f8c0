package profile

import (
	"fmt"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
)

// ResourceFault is one thing in a container's resources that the API server refuses.
type ResourceFault struct {
	// Field below the resources: `requests[memory]`.
	Field string
	// Found there, and what is Expected in its place.
	Found, Expected string
}

var (
	// shortResource names have no domain.
	shortResource = regexp.MustCompile(`^(cpu|memory|ephemeral-storage)$`)
	// sharedResource is one that a container may ask less of than its limit; of others nothing is given twice.
	sharedResource = regexp.MustCompile(`^(cpu|memory|ephemeral-storage)$|kubernetes\.io/`)
	// pageSizes of which huge pages can be: a whole number of bytes above zero.
	pageSizes = regexp.MustCompile(`^hugepages-([1-9][0-9]*(k|M|G|Ki|Mi|Gi)?)$`)
)

// ResourceFaults returns what the API server refuses in the resources of a container. The pods would never come, and whoever
// waits for the release waits in vain. The helper `gpu-dra.checkResources` of the chart says the same; internal/charttest
// compares the two. The rules are those of ValidateContainerResourceRequirements in pkg/apis/core/validation of k8s.io/kubernetes.
func ResourceFaults(requests, limits corev1.ResourceList) []ResourceFault {
	return append(amountFaults("requests", requests, requests, limits), amountFaults("limits", limits, requests, limits)...)
}

// amountFaults are those of one list; limits is compared with itself without a fault.
func amountFaults(list string, amounts, requests, limits corev1.ResourceList) []ResourceFault {
	var out []ResourceFault
	for _, name := range sortedKeys(amounts) {
		amount := amounts[name]
		limit, limited := limits[name]
		wrong := func(found, expected string) {
			out = append(out, ResourceFault{fmt.Sprintf("%s[%s]", list, name), found, expected})
		}
		switch {
		case !isResource(string(name)):
			wrong(string(name), "cpu, memory, ephemeral-storage, hugepages-<size>, or a domain, a slash and a name")
		case amount.Sign() < 0:
			wrong(amount.String(), "an amount that is not negative")
		case !sharedResource.MatchString(string(name)) && amount.MilliValue()%1000 != 0:
			wrong(amount.String(), "a whole number")
		case !wholePages(string(name), amount):
			wrong(amount.String(), "a multiple of the size of the pages")
		case pageSizes.MatchString(string(name)) && !asks(requests) && !asks(limits):
			wrong(amount.String(), "cpu or memory beside huge pages")
		case sharedResource.MatchString(string(name)):
			if limited && amount.Cmp(limit) > 0 {
				wrong(amount.String(), "at most the limit "+limit.String())
			}
		case !limited:
			wrong(amount.String(), fmt.Sprintf("the same amount as limits[%s], of which there is none", name))
		case amount.Cmp(limit) != 0:
			wrong(amount.String(), fmt.Sprintf("the same amount as limits[%s], which is %s", name, limit.String()))
		}
	}
	return out
}

// isResource reports whether a container may ask for a resource of this name.
func isResource(name string) bool {
	switch {
	case len(validation.IsQualifiedName(name)) > 0:
		return false
	case strings.Contains(name, "/"):
		// Quotas are named so.
		return !strings.HasPrefix(name, "requests.")
	}
	return shortResource.MatchString(name) || pageSizes.MatchString(name)
}

// wholePages is true for anything but a part of a huge page.
func wholePages(name string, amount resource.Quantity) bool {
	found := pageSizes.FindStringSubmatch(name)
	if found == nil {
		return true
	}
	size, err := resource.ParseQuantity(found[1])
	return err == nil && amount.Value()%size.Value() == 0
}

// asks reports whether a list has cpu or memory.
func asks(list corev1.ResourceList) bool {
	_, cpu := list[corev1.ResourceCPU]
	_, memory := list[corev1.ResourceMemory]
	return cpu || memory
}
