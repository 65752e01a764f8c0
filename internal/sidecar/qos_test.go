package sidecar

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
)

// class is the QoS class by the words of Kubernetes' documentation: https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/.
func class(pod *corev1.Pod) corev1.PodQOSClass {
	any, guaranteed := false, true
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		for _, name := range []corev1.ResourceName{corev1.ResourceCPU, corev1.ResourceMemory} {
			request, limit := c.Resources.Requests[name], c.Resources.Limits[name]
			any = any || !request.IsZero() || !limit.IsZero()
			guaranteed = guaranteed && !limit.IsZero() && request.Cmp(limit) == 0
		}
	}
	switch {
	case !any:
		return corev1.PodQOSBestEffort
	case guaranteed:
		return corev1.PodQOSGuaranteed
	}
	return corev1.PodQOSBurstable
}

// The sidecar leaves the class as it was, whatever the pod's containers ask for.
func TestClassStays(t *testing.T) {
	seen := map[corev1.PodQOSClass]bool{}
	least := 0
	amount := func(t *rapid.T, list corev1.ResourceList, name corev1.ResourceName) {
		if v := rapid.IntRange(least, 2).Draw(t, string(name)); v > 0 {
			list[name] = *resource.NewQuantity(int64(v-1), resource.DecimalSI)
		}
	}
	draw := func(t *rapid.T) corev1.ResourceRequirements {
		limits := corev1.ResourceList{}
		amount(t, limits, corev1.ResourceCPU)
		amount(t, limits, corev1.ResourceMemory)
		if rapid.Bool().Draw(t, "requests are the limits") {
			return corev1.ResourceRequirements{Requests: limits, Limits: limits}
		}
		requests := corev1.ResourceList{}
		amount(t, requests, corev1.ResourceCPU)
		amount(t, requests, corev1.ResourceMemory)
		return corev1.ResourceRequirements{Requests: requests, Limits: limits}
	}
	rapid.Check(t, func(t *rapid.T) {
		in := input()
		// Half of the pods have an amount of everything.
		least = rapid.SampledFrom([]int{0, 2}).Draw(t, "least")
		in.Pod.Spec.InitContainers[0].Resources = draw(t)
		in.Pod.Spec.Containers[0].Resources = draw(t)
		c := config()
		// The profile's limits, as the adapter fills them up, and a memory that follows from the devices.
		e := c.Drivers["acme"].Exporter
		e.Limits = list(rapid.SampledFrom([]string{"1m", "200m", "2"}).Draw(t, "cpu"), rapid.SampledFrom([]string{"1", "1Gi"}).Draw(t, "memory"))
		if rapid.Bool().Draw(t, "memory by devices") {
			e.Memory = &Memory{Base: 1 << 20, PerDevice: 1 << 10}
		}
		in.Claims["gpu"] = Claim{Name: "c", Classes: []string{"npu.acme.example"}, Devices: rapid.Int64Range(0, 16).Draw(t, "devices")}
		if rapid.Bool().Draw(t, "storage") {
			in.Pod.Spec.Containers[0].Resources.Limits[corev1.ResourceEphemeralStorage] = resource.MustParse("1Gi")
		}
		v := Decide(c, in)
		require.Equal(t, "acme", v.Driver)
		require.Equal(t, class(in.Pod), class(v.Pod))
		seen[class(in.Pod)] = true
	})
	require.Len(t, seen, 3)
}

func TestMemoryOfTheSidecar(t *testing.T) {
	for name, c := range map[string]struct {
		memory  *Memory
		devices []int64
		cpu     string
		want    string
		limit   string
		threads string
	}{
		"as the limits say":     {nil, []int64{8}, "100m", "304Mi", "241591910", "1"},
		"one device":            {&Memory{512 << 20, 64 << 20}, []int64{1}, "200m", "624Mi", "543581798", "1"},
		"eight":                 {&Memory{512 << 20, 64 << 20}, []int64{8}, "1", "1072Mi", "966367641", "1"},
		"nobody can tell":       {&Memory{512 << 20, 64 << 20}, []int64{0}, "1500m", "1072Mi", "966367641", "2"},
		"two claims, one known": {&Memory{512 << 20, 64 << 20}, []int64{2, 0}, "100m", "1200Mi", "1087163596", "1"},
	} {
		in := input()
		in.Pod.Spec.Containers[0].Resources.Requests = list("1", "1Gi")
		in.Pod.Spec.ResourceClaims = nil
		for i, n := range c.devices {
			in.Pod.Spec.ResourceClaims = append(in.Pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: fmt.Sprint(i)})
			in.Claims[fmt.Sprint(i)] = Claim{Name: "c", Classes: []string{"npu.acme.example"}, Devices: n}
		}
		with := config()
		e := with.Drivers["acme"].Exporter
		e.Memory, e.GoPercent = c.memory, 90
		e.Limits[corev1.ResourceCPU] = resource.MustParse(c.cpu)
		got := Decide(with, in).Pod.Spec.InitContainers[1]
		memory := got.Resources.Limits[corev1.ResourceMemory]
		require.True(t, memory.Equal(resource.MustParse(c.want)), "%s: the exporter's and ours: %s", name, memory.String())
		require.Equal(t, got.Resources.Limits, got.Resources.Requests, name)
		require.Contains(t, got.Env, corev1.EnvVar{Name: "GOMEMLIMIT", Value: c.limit}, name)
		require.Contains(t, got.Env, corev1.EnvVar{Name: "GOMAXPROCS", Value: c.threads}, name)
	}
	// What the profile or the settings say goes before.
	c := config()
	e := c.Drivers["acme"].Exporter
	e.GoPercent, e.Env = 90, []corev1.EnvVar{{Name: "GOMAXPROCS", Value: "3"}, {Name: "GOMEMLIMIT", Value: "1GiB"}}
	require.Equal(t, e.Env, Decide(c, input()).Pod.Spec.InitContainers[1].Env)
	// No product overflows.
	require.Equal(t, []corev1.EnvVar{{Name: "GOMEMLIMIT", Value: "9223372036854775807"}},
		(&Exporter{GoPercent: 100}).runtime(corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("10E")}))
}

// What the sidecar puts into the pod's volumes and logs does not come out of the engine's limit.
func TestStorageOfTheSidecar(t *testing.T) {
	in := input()
	for _, c := range Decide(config(), in).Pod.Spec.InitContainers {
		require.NotContains(t, c.Resources.Limits, corev1.ResourceEphemeralStorage)
	}
	for _, more := range []corev1.ResourceList{nil, list("1", "1Gi")} {
		limits := corev1.ResourceList{corev1.ResourceEphemeralStorage: resource.MustParse("100Mi")}
		maps.Copy(limits, more)
		in.Pod.Spec.Containers[0].Resources.Limits = limits
		v := Decide(config(), in)
		for _, c := range v.Pod.Spec.InitContainers[:2] {
			require.Equal(t, ourStorage, c.Resources.Limits[corev1.ResourceEphemeralStorage], c.Name)
			require.Equal(t, c.Resources.Limits, c.Resources.Requests, c.Name)
			require.Equal(t, more != nil, has(c.Resources.Limits, corev1.ResourceMemory), c.Name)
		}
		require.Equal(t, class(in.Pod), class(v.Pod))
	}
}

func TestLabelValues(t *testing.T) {
	require.Equal(t, "a_b", labelValue([]string{"a", "b"}))
	long := strings.Repeat("a", 51)
	values := map[string]bool{}
	for _, names := range [][]string{{long + "-.b" + long}, {long + "-.c" + long}, {strings.Repeat("x", 253), strings.Repeat("y", 253)}, {strings.Repeat("z", 63)}} {
		v := labelValue(names)
		require.Empty(t, validation.IsValidLabelValue(v), v)
		values[v] = true
	}
	require.Len(t, values, 4)
}

func TestWarningsAreCutBetweenCharacters(t *testing.T) {
	require.Equal(t, "short", cut("short", 10))
	require.Equal(t, "abcdefg...", cut("abcdefghijk", 10))
	require.Equal(t, "abcde\u00e9...", cut("abcde\u00e9\u00e9\u00e9\u00e9", 10))
}
