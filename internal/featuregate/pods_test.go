package featuregate

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

var where = profile.ControlPlanePods{Namespace: "kube-system", Label: "component", VersionAnnotation: "example.com/version"}

func pod(component, name, image string, argv ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"component": component}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: component, Image: image, Command: argv}}},
	}
}

func TestFromPods(t *testing.T) {
	leaving := pod("kube-scheduler", "kube-scheduler-b", "r/s:v1.33.0")
	leaving.DeletionTimestamp = &metav1.Time{Time: time.Now()}
	withSidecar := pod("kube-controller-manager", "kube-controller-manager-a", "r/cm:v1.34.1", "kube-controller-manager")
	withSidecar.Spec.Containers = append([]corev1.Container{{Name: "sidecar", Image: "x"}}, withSidecar.Spec.Containers...)
	noneOfThese := pod("kube-scheduler", "kube-scheduler-c", "x")
	noneOfThese.Spec.Containers = []corev1.Container{{Name: "a"}, {Name: "b"}}
	got := FromPods([]*corev1.Pod{
		pod("etcd", "etcd-a", "r/etcd:3.6"), leaving, noneOfThese, withSidecar,
		pod("kube-scheduler", "kube-scheduler-a", "r/s:v1.34.4", "kube-scheduler", "--feature-gates=DRAExtendedResource=true"),
		pod("kube-apiserver", "kube-apiserver-a", "r/a@sha256:1", "sleep"),
	}, where, "v1.34.4")
	require.Len(t, got, 3)
	require.Equal(t, "kube-apiserver kube-apiserver-a", got[0].String())
	require.Equal(t, "v1.34.4", got[0].Version, "the only API server is the one that answered")
	require.NotEmpty(t, got[0].Unreadable)
	require.Equal(t, "kube-controller-manager kube-controller-manager-a", got[1].String())
	require.Empty(t, got[1].Unreadable)
	require.Equal(t, map[string]bool{"DRAExtendedResource": true}, got[2].Set)
	require.Equal(t, "v1.34.4", got[2].Version)

	two := FromPods([]*corev1.Pod{pod("kube-apiserver", "a", "r/a@sha256:1"), pod("kube-apiserver", "b", "r/a@sha256:2")}, where, "v1.34.4")
	require.Empty(t, two[0].Version, "which of two answered is not known")
}

func TestVersionOf(t *testing.T) {
	for image, want := range map[string]string{
		"registry.k8s.io/kube-apiserver:v1.34.4":              "v1.34.4",
		"registry:5000/kube-apiserver:v1.35.0-rc.1":           "v1.35.0-rc.1",
		"registry:5000/kube-apiserver":                        "",
		"registry:5000/kube-apiserver@sha256:12":              "",
		"registry:5000/kube-apiserver:v1.36.0@sha256:12":      "v1.36.0",
		"kube-apiserver:latest":                               "",
		"kube-apiserver:1.34":                                 "1.34",
		"registry.example.com/v1.30.0/kube-apiserver:release": "",
	} {
		p := pod("kube-apiserver", "a", image)
		require.Equal(t, want, versionOf(p, &p.Spec.Containers[0], where.VersionAnnotation), image)
	}
	p := pod("kube-apiserver", "a", "x@sha256:1")
	p.Annotations = map[string]string{"example.com/version": "1.34"}
	require.Equal(t, "1.34", versionOf(p, &p.Spec.Containers[0], where.VersionAnnotation))
	p.Annotations = map[string]string{"": "1.34"}
	require.Empty(t, versionOf(p, &p.Spec.Containers[0], ""))
}
