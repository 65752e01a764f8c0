package observe

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// The functions below are transforms of informers: they build the object anew from what is used, so that a field that
// nobody thought of is dropped and not kept. An object may come through twice.

// identity keeps what names an object and what caches need.
func identity(o client.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion(),
		Labels: o.GetLabels(), DeletionTimestamp: o.GetDeletionTimestamp(),
	}
}

// transform makes a TransformFunc of a function on one type. Other objects, of which there are none, stay as they are.
func transform[T any](trim func(T) T) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		if o, ok := obj.(T); ok {
			return trim(o), nil
		}
		return obj, nil
	}
}

// Node keeps labels, taints, capacity and allocatable but what every node has of no interest here, and nodeInfo. What a
// heartbeat changes is not among it.
func Node(n *corev1.Node) *corev1.Node {
	info := n.Status.NodeInfo
	return &corev1.Node{
		ObjectMeta: identity(n),
		Spec:       corev1.NodeSpec{Taints: n.Spec.Taints},
		Status: corev1.NodeStatus{
			Capacity:    resources(n.Status.Capacity),
			Allocatable: resources(n.Status.Allocatable),
			NodeInfo: corev1.NodeSystemInfo{
				KubeletVersion:          info.KubeletVersion,
				ContainerRuntimeVersion: info.ContainerRuntimeVersion,
			},
		},
	}
}

// resources keeps memory, huge pages and extended resources, whose names have a domain.
func resources(in corev1.ResourceList) corev1.ResourceList {
	out := corev1.ResourceList{}
	for name, q := range in {
		switch text := string(name); {
		case name == corev1.ResourceMemory, strings.HasPrefix(text, corev1.ResourceHugePagesPrefix), strings.Contains(text, "/"):
			out[name] = q
		}
	}
	return out
}

// DriverPod keeps where a pod of a driver runs and how it is doing.
func DriverPod(p *corev1.Pod) *corev1.Pod {
	out := &corev1.Pod{
		ObjectMeta: identity(p),
		Spec:       corev1.PodSpec{NodeName: p.Spec.NodeName},
		Status:     corev1.PodStatus{Phase: p.Status.Phase, Reason: p.Status.Reason},
	}
	out.CreationTimestamp = p.CreationTimestamp
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			out.Status.Conditions = []corev1.PodCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	out.Status.InitContainerStatuses = unfinished(p.Status.InitContainerStatuses, true)
	out.Status.ContainerStatuses = unfinished(p.Status.ContainerStatuses, false)
	return out
}

// unfinished keeps of the containers that do not run, and of the init containers that are not done, in what state they are and
// what they said when they last ended: an init container that waits for something says there for what.
func unfinished(list []corev1.ContainerStatus, init bool) []corev1.ContainerStatus {
	var out []corev1.ContainerStatus
	for _, s := range list {
		kept := corev1.ContainerStatus{Name: s.Name}
		switch {
		case s.State.Waiting != nil:
			kept.State.Waiting = &corev1.ContainerStateWaiting{Reason: s.State.Waiting.Reason}
		case s.State.Terminated != nil && s.State.Terminated.ExitCode != 0:
			kept.State.Terminated = ended(s.State.Terminated)
		case s.State.Running != nil && init:
			kept.State.Running = &corev1.ContainerStateRunning{}
		default:
			continue
		}
		kept.LastTerminationState.Terminated = ended(s.LastTerminationState.Terminated)
		out = append(out, kept)
	}
	return out
}

func ended(t *corev1.ContainerStateTerminated) *corev1.ContainerStateTerminated {
	if t == nil {
		return nil
	}
	return &corev1.ContainerStateTerminated{ExitCode: t.ExitCode, Reason: t.Reason, Message: t.Message}
}

// ControlPlanePod keeps the command lines of a pod of the control plane, and the annotation with its version.
func ControlPlanePod(p *corev1.Pod, versionAnnotation string) *corev1.Pod {
	out := &corev1.Pod{ObjectMeta: identity(p)}
	if version, ok := p.Annotations[versionAnnotation]; ok {
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, versionAnnotation, version)
	}
	for _, c := range p.Spec.Containers {
		out.Spec.Containers = append(out.Spec.Containers, corev1.Container{Name: c.Name, Image: c.Image, Command: c.Command, Args: c.Args})
	}
	return out
}

// DeviceClass keeps the labels of a class, which say who made it.
func DeviceClass(c *resourcev1.DeviceClass) *resourcev1.DeviceClass {
	return &resourcev1.DeviceClass{ObjectMeta: identity(c)}
}

// Namespace keeps the labels of a namespace.
func Namespace(n *corev1.Namespace) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: identity(n)}
}

// ClaimTemplate keeps what a ResourceClaimTemplate was built from, but not what it says, which cannot change.
func ClaimTemplate(t *resourcev1.ResourceClaimTemplate) *resourcev1.ResourceClaimTemplate {
	out := &resourcev1.ResourceClaimTemplate{ObjectMeta: identity(t)}
	out.OwnerReferences = t.OwnerReferences
	if hash, ok := t.Annotations[v1alpha1.AnnotationSpecHash]; ok {
		metav1.SetMetaDataAnnotation(&out.ObjectMeta, v1alpha1.AnnotationSpecHash, hash)
	}
	return out
}
