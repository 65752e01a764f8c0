package gpunode

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

func nodeRuntime(n *corev1.Node) *v1alpha1.NodeRuntime {
	info := n.Status.NodeInfo
	status, _ := cdi(info.ContainerRuntimeVersion)
	return &v1alpha1.NodeRuntime{
		KubeletVersion:   info.KubeletVersion,
		ContainerRuntime: info.ContainerRuntimeVersion,
		CDI:              status,
	}
}

// cdi tells from the runtime's version, as the kubelet reports it (`containerd://2.2.0`), whether it injects CDI devices, and
// the reason of the condition that says so. containerd has CDI since 1.7, off unless configured, and on by default since 2.0
// (containerd/containerd#9621); CRI-O has had it on since 1.23. The kubelet names Docker's version and not that of
// cri-dockerd, which lies between: Docker has CDI since 25.0 (moby/moby#45134), later versions of cri-dockerd pass the
// devices on (Mirantis/cri-dockerd#522).
func cdi(runtime string) (metav1.ConditionStatus, string) {
	name, text, _ := strings.Cut(runtime, "://")
	v, err := version.ParseGeneric(strings.TrimPrefix(text, "v"))
	if err != nil {
		return metav1.ConditionUnknown, condition.NodeRuntimeUnknown
	}
	at := func(major, minor uint) bool { return v.AtLeast(version.MajorMinor(major, minor)) }
	switch {
	case name == "containerd" && at(2, 0), name == "cri-o" && at(1, 23):
		return metav1.ConditionTrue, condition.NodeCDISupported
	case name == "containerd" && at(1, 7):
		return metav1.ConditionUnknown, condition.NodeCDIOffByDefault
	case name == "containerd", name == "cri-o", name == "docker" && !at(25, 0):
		return metav1.ConditionFalse, condition.NodeCDIUnsupported
	}
	return metav1.ConditionUnknown, condition.NodeRuntimeUnknown
}

func runtimeReady(r *v1alpha1.NodeRuntime) metav1.Condition {
	status, reason := cdi(r.ContainerRuntime)
	message := ""
	switch reason {
	case condition.NodeCDIUnsupported:
		message = r.ContainerRuntime + " cannot inject CDI devices, so pods start without them; use containerd 2.0 or CRI-O 1.23, or newer"
	case condition.NodeCDIOffByDefault:
		message = r.ContainerRuntime + " has CDI off unless its configuration switches it on, and pods start without their devices while it is off; " +
			"set enable_cdi = true in the CRI plugin's section and restart containerd, or upgrade to containerd 2.0"
	case condition.NodeRuntimeUnknown:
		message = fmt.Sprintf("container runtime %q does not tell by its version whether it injects CDI devices; look into a pod with a claim: is the device there", r.ContainerRuntime)
		if strings.HasPrefix(r.ContainerRuntime, "docker://") {
			message += ". Docker has to have features.cdi on (it is by default since 28.2), and cri-dockerd has to pass CDI devices on"
		}
	}
	return condition.New(condition.RuntimeReady, status, reason, message)
}
