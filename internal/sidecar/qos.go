package sidecar

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// resources of a container of ours that leave the pod's QoS class as it is. A pod without any requests and limits stays
// BestEffort only if ours has none either; in every other the requests are the limits: that keeps a Guaranteed pod what it is,
// and a Burstable one is Burstable for what its own containers say.
func resources(pod *corev1.Pod, limits corev1.ResourceList) corev1.ResourceRequirements {
	if bestEffort(pod) {
		return corev1.ResourceRequirements{}
	}
	return corev1.ResourceRequirements{Requests: limits.DeepCopy(), Limits: limits.DeepCopy()}
}

func bestEffort(pod *corev1.Pod) bool {
	return !slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return says(c.Resources.Requests) || says(c.Resources.Limits)
	})
}

// says tells whether a list has an amount of what decides the class.
func says(list corev1.ResourceList) bool {
	for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
		if q, ok := list[name]; ok && q.Sign() > 0 {
			return true
		}
	}
	return false
}
