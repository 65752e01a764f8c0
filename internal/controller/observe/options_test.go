package observe

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func TestDriverPodsSelector(t *testing.T) {
	of := func(selectors ...map[string]string) string {
		var drivers []*profile.Driver
		for _, s := range selectors {
			drivers = append(drivers, &profile.Driver{PodSelector: s})
		}
		s := DriverPods(drivers)
		if s.Empty() {
			return "everything"
		}
		if _, selectable := s.Requirements(); !selectable {
			return "nothing"
		}
		return s.String()
	}
	require.Equal(t, "app in (a,b)", of(map[string]string{"app": "b"}, nil, map[string]string{"app": "a"}))
	require.Equal(t, "app in (a)", of(map[string]string{"app": "a"}, map[string]string{"app": "a"}))
	require.Equal(t, "everything", of(map[string]string{"app": "a"}, map[string]string{"name": "b"}))
	require.Equal(t, "everything", of(map[string]string{"app": "a", "name": "b"}))
	require.Equal(t, "nothing", of(nil))
	require.Equal(t, "everything", of(map[string]string{"no key!": "a"}))
}

func TestCacheOptions(t *testing.T) {
	o := CacheOptions("gpu-dra", []*profile.Driver{{PodSelector: map[string]string{"app": "a"}}})
	for object, by := range o.ByObject {
		require.NotNil(t, by.Transform, "%T is kept whole", object)
	}
	var pods map[string]struct{}
	for object, by := range o.ByObject {
		if _, ok := object.(*corev1.Pod); ok {
			pods = map[string]struct{}{}
			for namespace := range by.Namespaces {
				pods[namespace] = struct{}{}
			}
		}
	}
	require.Equal(t, map[string]struct{}{"gpu-dra": {}}, pods, "pods of no other namespace")
	require.True(t, o.ReaderFailOnMissingInformer)
	require.NotNil(t, o.DefaultTransform)
}
