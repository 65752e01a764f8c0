package sidecar

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

// class is the QoS class by the words of Kubernetes' documentation: https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/.
func class(pod *corev1.Pod) corev1.PodQOSClass {
	any, guaranteed := false, true
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
			any = any || !request.IsZero() || !limit.IsZero()
			guaranteed = guaranteed && !limit.IsZero() && request.Cmp(limit) == 0
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// The sidecar leaves the class as it was, whatever the pod's containers ask for.
func TestClassStays(t *testing.T) {
	seen := map[corev1.PodQOSClass]bool{}
	least := 0
	amount := func(t *rapid.T, list corev1.ResourceList, name corev1.ResourceName) {
		if v := rapid.IntRange(least, 2).Draw(t, string(name)); v > 0 {
			list[name] = *resource.NewQuantity(int64(v-1), resource.DecimalSI)
		}
	}
	draw := func(t *rapid.T) corev1.ResourceRequirements {
		limits := corev1.ResourceList{}
		amount(t, limits, corev1.ResourceCPU)
		amount(t, limits, corev1.ResourceMemory)
		if rapid.Bool().Draw(t, "requests are the limits") {
			return corev1.ResourceRequirements{Requests: limits, Limits: limits}
		}
		requests := corev1.ResourceList{}
		amount(t, requests, corev1.ResourceCPU)
		amount(t, requests, corev1.ResourceMemory)
		return corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := input()
		// Half of the pods have an amount of everything.
		least = rapid.SampledFrom([]int{0, 2}).Draw(t, "least")
		in.Pod.Spec.InitContainers[0].Resources = draw(t)
		in.Pod.Spec.Containers[0].Resources = draw(t)
		v := Decide(config(), in)
		require.Equal(t, "acme", v.Driver)
		require.Equal(t, class(in.Pod), class(v.Pod))
		seen[class(in.Pod)] = true
	})
	require.Len(t, seen, 3)
}

func TestMemoryOfTheSidecar(t *testing.T) {
	in := input()
	in.Pod.Spec.Containers[0].Resources.Requests = list("1", "1Gi")
	c := Decide(config(), in).Pod.Spec.InitContainers[1]
	memory := c.Resources.Limits[corev1.ResourceMemory]
	require.Equal(t, "304Mi", memory.String(), "the exporter's and ours")
	require.Equal(t, c.Resources.Limits, c.Resources.Requests)
}

func TestLabelValues(t *testing.T) {
	require.Equal(t, "a_b", labelValue([]string{"a", "b"}))
	long := strings.Repeat("a", 51)
	values := map[string]bool{}
	for _, names := range [][]string{{long + "-.b" + long}, {long + "-.c" + long}, {strings.Repeat("x", 253), strings.Repeat("y", 253)}, {strings.Repeat("z", 63)}} {
		v := labelValue(names)
		require.Empty(t, validation.IsValidLabelValue(v), v)
		values[v] = true
	}
	require.Len(t, values, 4)
}

func TestWarningsAreCutBetweenCharacters(t *testing.T) {
	require.Equal(t, "short", cut("short", 10))
	require.Equal(t, "abcdefg...", cut("abcdefghijk", 10))
	require.Equal(t, "abcde\u00e9...", cut("abcde\u00e9\u00e9\u00e9\u00e9", 10))
}
