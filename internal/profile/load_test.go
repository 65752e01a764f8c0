package profile

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewSet(t *testing.T) {
	a := Driver{Name: "a", DriverName: "gpu.a.example", OtherDrivers: []string{"net.a.example"}}
	b := Driver{Name: "b", DriverName: "gpu.b.example"}
	mine := Driver{Name: "a", DriverName: "gpu.a.example", ProductAttribute: "model"}

	s, err := NewSet(b, a)
	require.NoError(t, err)
	require.Equal(t, "a", s.All()[0].Name)
	require.Len(t, s.All(), 2)
	d, ok := s.ByDriver("net.a.example")
	require.True(t, ok)
	require.Equal(t, []string{"gpu.a.example", "net.a.example"}, d.DriverNames())
	_, ok = s.ByDriver("a")
	require.False(t, ok)
	_, ok = s.ByName("c")
	require.False(t, ok)

	s, err = NewSet(a, b, mine)
	require.NoError(t, err, "a later profile of the same name replaces the earlier one")
	d, _ = s.ByName("a")
	require.Equal(t, "model", d.ProductAttribute)
	_, ok = s.ByDriver("net.a.example")
	require.False(t, ok)

	_, err = NewSet(a, b, Driver{Name: "c", DriverName: "gpu.b.example"})
	require.EqualError(t, err, `profiles "b" and "c" both describe the DRA driver "gpu.b.example": keep one`)
	_, err = NewSet(a, Driver{Name: "c", DriverName: "net.a.example"})
	require.ErrorContains(t, err, `"net.a.example"`)

	s, err = NewSet()
	require.NoError(t, err)
	require.Empty(t, s.All())
}

func TestMemoryFactor(t *testing.T) {
	for unit, want := range map[string]int64{"": 1, "Ki": 1024, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "k": 1000, "M": 1e6, "G": 1e9, "T": 1e12} {
		got, ok := Memory{Unit: unit}.Factor()
		require.True(t, ok)
		require.Equal(t, want, got, unit)
	}
	_, ok := Memory{Unit: "MiB"}.Factor()
	require.False(t, ok)
}
