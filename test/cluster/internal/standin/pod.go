// Package standin publishes the control plane of a test cluster the way a cluster made by
// kubeadm or Deckhouse shows it: as mirror Pods of static Pods. They are fakes, and say so
// in an annotation: the components run as plain processes outside the cluster. What is true
// in them is the command line, which is what readers of feature gates look at.
package standin

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/fakenodes"
)

const (
	// NodeName is the fake node the Pods are on.
	NodeName = "control-plane"
	// Annotation names the Pods and the node as what they are.
	Annotation = "test.gpu-dra.deckhouse.io/stand-in"

	namespace  = "kube-system"
	roleLabel  = "node-role.kubernetes.io/control-plane"
	standInFor = "a fake made by test/cluster: the component runs as a process outside this cluster"
)

// Component is one process of the control plane.
type Component struct {
	Name    string
	Version string
	// Args is its whole command line, the program's name first.
	Args []string
}

func pod(c Component, node *corev1.Node) *corev1.Pod {
	hash := sha256.Sum256([]byte(strings.Join(append([]string{c.Version}, c.Args...), "\x00")))
	controller := true
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      c.Name + "-" + NodeName,
			Namespace: namespace,
			Labels:    map[string]string{"component": c.Name, "tier": "control-plane"},
			Annotations: map[string]string{
				Annotation:                    standInFor,
				corev1.MirrorPodAnnotationKey: hex.EncodeToString(hash[:16]),
				"kubernetes.io/config.hash":   hex.EncodeToString(hash[:16]),
				"kubernetes.io/config.source": "file",
			},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID, Controller: &controller}},
		},
		Spec: corev1.PodSpec{
			NodeName:          NodeName,
			HostNetwork:       true,
			PriorityClassName: "system-node-critical",
			Tolerations:       []corev1.Toleration{{Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute}},
			Containers: []corev1.Container{{
				Name:    c.Name,
				Image:   "registry.k8s.io/" + c.Name + ":" + c.Version,
				Command: c.Args,
			}},
		},
	}
}

func node() *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name: NodeName,
			Labels: map[string]string{roleLabel: "", corev1.LabelHostname: NodeName,
				corev1.LabelOSStable: "linux", corev1.LabelArchStable: "amd64"},
			Annotations: map[string]string{Annotation: standInFor, fakenodes.Annotation: fakenodes.Value},
		},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: roleLabel, Effect: corev1.TaintEffectNoSchedule}}},
	}
}

// same says whether the Pod that is there already shows this command line. A mirror Pod is
// never changed, only replaced, and so is this one.
func same(have, want *corev1.Pod) bool {
	return have.DeletionTimestamp == nil && len(have.Spec.Containers) == 1 &&
		have.Spec.Containers[0].Image == want.Spec.Containers[0].Image &&
		slices.Equal(have.Spec.Containers[0].Command, want.Spec.Containers[0].Command)
}
