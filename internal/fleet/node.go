package fleet

import (
	"crypto/sha256"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Node returns a ready server with two sockets and 1 TiB of memory, with the labels that every kubelet sets and those
// given. It has no uid: the API server gives one.
func Node(name string, labels map[string]string) *corev1.Node {
	capacity := corev1.ResourceList{
		corev1.ResourceCPU:              resource.MustParse("128"),
		corev1.ResourceMemory:           resource.MustParse("1056293508Ki"),
		corev1.ResourceEphemeralStorage: resource.MustParse("1844284980Ki"),
		corev1.ResourcePods:             resource.MustParse("110"),
	}
	allocatable := capacity.DeepCopy()
	allocatable[corev1.ResourceCPU] = resource.MustParse("127930m")
	allocatable[corev1.ResourceMemory] = resource.MustParse("1032512392Ki")
	n := &corev1.Node{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"},
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			corev1.LabelHostname:   name,
			corev1.LabelOSStable:   "linux",
			corev1.LabelArchStable: "amd64",
		}},
		Status: corev1.NodeStatus{
			Capacity:    capacity,
			Allocatable: allocatable,
			Addresses:   []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: name}},
			Conditions: []corev1.NodeCondition{{
				Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status",
			}},
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion:          "v1.34.4",
				ContainerRuntimeVersion: "containerd://2.2.0",
				OSImage:                 "Ubuntu 24.04.3 LTS",
				KernelVersion:           "6.8.0-79-generic",
				OperatingSystem:         "linux",
				Architecture:            "amd64",
			},
		},
	}
	for k, v := range labels {
		n.Labels[k] = v
	}
	return n
}

// Stored returns the slices as a list that an API server answers with: each with uid, resourceVersion, generation and
// creation time.
func Stored(slices []*resourcev1.ResourceSlice) *resourcev1.ResourceSliceList {
	created := metav1.NewTime(time.Date(2026, 3, 11, 8, 0, 0, 0, time.UTC))
	list := &resourcev1.ResourceSliceList{
		TypeMeta: metav1.TypeMeta{APIVersion: resourcev1.SchemeGroupVersion.String(), Kind: "ResourceSliceList"},
		ListMeta: metav1.ListMeta{ResourceVersion: fmt.Sprint(1000 + len(slices))},
	}
	for i, s := range slices {
		item := *s
		item.UID = types.UID(uuid("slice/" + s.Name))
		item.ResourceVersion = fmt.Sprint(1000 + i)
		item.Generation = 1
		item.CreationTimestamp = created
		list.Items = append(list.Items, item)
	}
	return list
}

// uuid is the same for the same seed, and random to look at.
func uuid(seed string) string {
	h := sha256.Sum256([]byte(seed))
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[0:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
