package reservation

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func TestMeasured(t *testing.T) {
	p := platform(t, tieredSpec)
	auto := memory(p, 2048*gibi, 23836019917)
	for name, tc := range map[string]struct {
		memory *v1alpha1.NodeMemory
		want   int64
		ok     bool
	}{
		"as the platform does it": {auto, 23836019917, true},
		"2 TiB by its quantities": {&v1alpha1.NodeMemory{Capacity: resource.MustParse("2147483648Ki"), Allocatable: resource.MustParse("2153197003079")}, 23836019917, true},
		"with huge pages": {&v1alpha1.NodeMemory{Capacity: *Quantity(64 * gibi), Allocatable: *Quantity(64*gibi - 20*gibi - p.EvictionHard(64*gibi)),
			HugePages: quantity("16Gi")}, 4 * gibi, true},
		"a smaller hard eviction than the platform's": {&v1alpha1.NodeMemory{Capacity: *Quantity(64 * gibi), Allocatable: *Quantity(64*gibi - mebi)}, 0, true},
		"unknown":                     {nil, 0, false},
		"no figures":                  {&v1alpha1.NodeMemory{}, 0, false},
		"no capacity":                 {&v1alpha1.NodeMemory{Allocatable: *Quantity(gibi)}, 0, false},
		"no allocatable":              {&v1alpha1.NodeMemory{Capacity: *Quantity(gibi)}, 0, false},
		"more allocatable than there": {&v1alpha1.NodeMemory{Capacity: *Quantity(gibi), Allocatable: *Quantity(gibi + 1)}, 0, false},
		"negative":                    {&v1alpha1.NodeMemory{Capacity: *Quantity(gibi), Allocatable: *Quantity(-1)}, 0, false},
		"negative huge pages":         {&v1alpha1.NodeMemory{Capacity: *Quantity(gibi), Allocatable: *Quantity(mebi), HugePages: Quantity(-1)}, 0, false},
		"beyond belief":               {&v1alpha1.NodeMemory{Capacity: resource.MustParse("1e40"), Allocatable: *Quantity(mebi)}, 0, false},
	} {
		got, ok := p.Measured(tc.memory)
		require.Equal(t, tc.ok, ok, name)
		require.Equal(t, tc.want, got, name)
	}
}

// What the kubelet makes of a reservation, Measured makes back, to the byte.
func TestMeasuredIsWhatWasConfigured(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := platform(t, rapid.SampledFrom([]profile.KubeletMemory{tieredSpec, plainSpec}).Draw(t, "platform"))
		capacity := rapid.Int64Range(gibi, 8192*gibi).Draw(t, "capacity")
		reserved := rapid.Int64Range(0, capacity/2).Draw(t, "reserved")
		huge := rapid.Int64Range(0, capacity/4).Draw(t, "huge pages")
		m := memory(p, capacity, reserved+huge)
		m.HugePages = Quantity(huge)
		got, ok := p.Measured(m)
		require.True(t, ok)
		require.Equal(t, reserved, got)
	})
}

func TestMeasuredNeverNegativeNorPanics(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := anyPlatform(t)
		m := &v1alpha1.NodeMemory{Capacity: *Quantity(extremes().Draw(t, "capacity")), Allocatable: *Quantity(extremes().Draw(t, "allocatable"))}
		if v := rapid.Ptr(extremes(), true).Draw(t, "huge pages"); v != nil {
			m.HugePages = Quantity(*v)
		}
		got, ok := p.Measured(m)
		require.GreaterOrEqual(t, got, int64(0))
		if !ok {
			require.Zero(t, got)
		}
	})
}
