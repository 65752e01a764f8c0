package sidecar

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// ourStorage is what a container of ours may take of the node's disk: the program, what the exporter writes, and logs.
var ourStorage = resource.MustParse("256Mi")

// resources of a container of ours that leave the pod's QoS class as it is. A pod without any requests and limits stays
// BestEffort only if ours has none either; in every other the requests are the limits: that keeps a Guaranteed pod what it is,
// and a Burstable one is Burstable for what its own containers say.
func resources(pod *corev1.Pod, limits corev1.ResourceList) corev1.ResourceRequirements {
	all := corev1.ResourceList{}
	if anyContainer(pod, func(r corev1.ResourceRequirements) bool { return says(r.Requests) || says(r.Limits) }) {
		all = limits.DeepCopy()
	}
	// The kubelet compares what the whole pod takes with the sum of the limits. Storage has no part in the class.
	if anyContainer(pod, func(r corev1.ResourceRequirements) bool { return has(r.Limits, corev1.ResourceEphemeralStorage) }) &&
		!has(all, corev1.ResourceEphemeralStorage) {
		all[corev1.ResourceEphemeralStorage] = ourStorage
	}
	if len(all) == 0 {
		return corev1.ResourceRequirements{}
	}
	return corev1.ResourceRequirements{Requests: all.DeepCopy(), Limits: all}
}

func anyContainer(pod *corev1.Pod, is func(corev1.ResourceRequirements) bool) bool {
	return slices.ContainsFunc(slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers), func(c corev1.Container) bool {
		return is(c.Resources)
	})
}

// says tells whether a list has an amount of what decides the class.
func says(list corev1.ResourceList) bool {
	return has(list, corev1.ResourceCPU) || has(list, corev1.ResourceMemory)
}

func has(list corev1.ResourceList, name corev1.ResourceName) bool {
	q, ok := list[name]
	return ok && q.Sign() > 0
}
