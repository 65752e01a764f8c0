package observe

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

var deleted = metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))

// whole is metadata with all that objects carry.
func whole(annotations map[string]string) metav1.ObjectMeta {
	annotations["kubectl.kubernetes.io/last-applied-configuration"] = "{}"
	return metav1.ObjectMeta{
		Name: "x", Namespace: "ns", UID: "u", ResourceVersion: "7", Generation: 3, Labels: map[string]string{"a": "b"}, Annotations: annotations,
		CreationTimestamp: deleted, DeletionTimestamp: &deleted, Finalizers: []string{"f"}, ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		OwnerReferences: []metav1.OwnerReference{{Kind: "K", Name: "n", UID: "o"}},
	}
}

func kept() metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: "x", Namespace: "ns", UID: "u", ResourceVersion: "7", Labels: map[string]string{"a": "b"}, DeletionTimestamp: &deleted}
}

// check compares what a transform keeps, and that a second time changes nothing.
func check[T client.Object](t *testing.T, trim func(T) T, in, want T) {
	t.Helper()
	once := trim(in)
	require.Empty(t, cmp.Diff(want, once))
	require.Empty(t, cmp.Diff(want, trim(once)))
}

func TestNode(t *testing.T) {
	list := func(names ...corev1.ResourceName) corev1.ResourceList {
		out := corev1.ResourceList{}
		for _, n := range names {
			out[n] = resource.MustParse("1")
		}
		return out
	}
	all := list("cpu", "pods", "ephemeral-storage", "memory", "hugepages-1Gi", "example.com/gpu")
	used := list("memory", "hugepages-1Gi", "example.com/gpu")
	taints := []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	in := &corev1.Node{
		ObjectMeta: whole(map[string]string{}),
		Spec:       corev1.NodeSpec{PodCIDR: "10.0.0.0/24", Taints: taints},
		Status: corev1.NodeStatus{
			Capacity: all, Allocatable: all, Images: []corev1.ContainerImage{{Names: []string{"i"}}}, Addresses: []corev1.NodeAddress{{Address: "a"}},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, LastHeartbeatTime: metav1.Now()}},
			NodeInfo:   corev1.NodeSystemInfo{KubeletVersion: "v1", ContainerRuntimeVersion: "c", OSImage: "o", KernelVersion: "k", MachineID: "m", BootID: "b"},
		},
	}
	want := &corev1.Node{ObjectMeta: kept(), Spec: corev1.NodeSpec{Taints: taints}, Status: corev1.NodeStatus{
		Capacity: used, Allocatable: used,
		NodeInfo: corev1.NodeSystemInfo{KubeletVersion: "v1", ContainerRuntimeVersion: "c"},
	}}
	check(t, Node, in, want)
}

func TestDriverPod(t *testing.T) {
	running := corev1.ContainerStatus{Name: "fine", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}
	done := corev1.ContainerStatus{Name: "done", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}}
	waiting := func(name, reason string) corev1.ContainerStatus {
		return corev1.ContainerStatus{Name: name, State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}}
	}
	// A container that ended before it came to where it is.
	again := func(s corev1.ContainerStatus) corev1.ContainerStatus {
		s.LastTerminationState.Terminated = &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "why"}
		return s
	}
	failed := corev1.ContainerStatus{Name: "failed", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "m"}}}
	in := &corev1.Pod{
		ObjectMeta: whole(map[string]string{}),
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c"}}},
		Status: corev1.PodStatus{
			Phase: corev1.PodRunning, Reason: "r", Message: "m", PodIP: "1.2.3.4",
			Conditions:            []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}, {Type: corev1.PodReady, Status: corev1.ConditionFalse, Message: "m"}},
			InitContainerStatuses: []corev1.ContainerStatus{done, again(running), waiting("next", "PodInitializing")},
			ContainerStatuses:     []corev1.ContainerStatus{running, again(waiting("crashes", "CrashLoopBackOff")), failed},
		},
	}
	want := &corev1.Pod{ObjectMeta: kept(), Spec: corev1.PodSpec{NodeName: "n"}, Status: corev1.PodStatus{
		Phase: corev1.PodRunning, Reason: "r", Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionFalse}},
		InitContainerStatuses: []corev1.ContainerStatus{again(running), waiting("next", "PodInitializing")},
		ContainerStatuses:     []corev1.ContainerStatus{again(waiting("crashes", "CrashLoopBackOff")), failed},
	}}
	want.CreationTimestamp = deleted
	check(t, DriverPod, in, want)
}

func TestControlPlanePod(t *testing.T) {
	in := &corev1.Pod{
		ObjectMeta: whole(map[string]string{"version": "1.34"}),
		Spec:       corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i", Command: []string{"x"}, Args: []string{"y"}, Env: []corev1.EnvVar{{Name: "e"}}}}},
	}
	want := &corev1.Pod{ObjectMeta: kept(), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i", Command: []string{"x"}, Args: []string{"y"}}}}}
	check(t, func(p *corev1.Pod) *corev1.Pod { return ControlPlanePod(p, "") }, in.DeepCopy(), want.DeepCopy())
	want.Annotations = map[string]string{"version": "1.34"}
	check(t, func(p *corev1.Pod) *corev1.Pod { return ControlPlanePod(p, "version") }, in, want)
}

func TestDeviceClass(t *testing.T) {
	in := &resourcev1.DeviceClass{ObjectMeta: whole(map[string]string{"meta.helm.sh/release-name": "r"}), Spec: resourcev1.DeviceClassSpec{Selectors: make([]resourcev1.DeviceSelector, 1)}}
	check(t, DeviceClass, in, &resourcev1.DeviceClass{ObjectMeta: kept()})
}

func TestClaimTemplate(t *testing.T) {
	in := &resourcev1.ResourceClaimTemplate{ObjectMeta: whole(map[string]string{v1alpha1.AnnotationSpecHash: "h"})}
	in.Spec.Spec.Devices.Requests = make([]resourcev1.DeviceRequest, 1)
	want := &resourcev1.ResourceClaimTemplate{ObjectMeta: kept()}
	want.Annotations = map[string]string{v1alpha1.AnnotationSpecHash: "h"}
	want.OwnerReferences = in.OwnerReferences
	check(t, ClaimTemplate, in, want)
}

func TestNamespace(t *testing.T) {
	in := &corev1.Namespace{ObjectMeta: whole(map[string]string{}), Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{"f"}}, Status: corev1.NamespaceStatus{Phase: corev1.NamespaceActive}}
	check(t, Namespace, in, &corev1.Namespace{ObjectMeta: kept()})
}

func TestTransformLeavesOtherObjects(t *testing.T) {
	out, err := transform(Node)("no node")
	require.NoError(t, err)
	require.Equal(t, "no node", out)
}
