package standin

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/fakenodes"
)

func TestPodShowsTheRealCommandLineAndThatItIsAFake(t *testing.T) {
	c := Component{Name: "kube-scheduler", Version: "v1.34.4", Args: []string{"kube-scheduler", "--feature-gates=A=true"}}
	n := node()
	n.UID = "uid"
	p := pod(c, n)
	if p.Annotations[Annotation] == "" || p.Annotations[corev1.MirrorPodAnnotationKey] == "" {
		t.Errorf("annotations %v", p.Annotations)
	}
	if p.Labels["component"] != "kube-scheduler" || p.Labels["tier"] != "control-plane" || p.Spec.NodeName != n.Name {
		t.Errorf("labels %v on node %s", p.Labels, p.Spec.NodeName)
	}
	if n.Annotations[fakenodes.Annotation] != fakenodes.Value || n.Annotations[Annotation] == "" || len(n.Spec.Taints) != 1 {
		t.Errorf("node %+v", n)
	}
	if !same(p, pod(c, n)) {
		t.Error("the same command line is replaced")
	}
	c.Args = []string{"kube-scheduler"}
	if same(p, pod(c, n)) {
		t.Error("another command line is kept")
	}
	if other := pod(c, n); other.Annotations[corev1.MirrorPodAnnotationKey] == p.Annotations[corev1.MirrorPodAnnotationKey] {
		t.Error("another command line has the same hash")
	}
}
