package claim

import (
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// npu publishes memory as an attribute in MiB; odd has keys that need care; bare publishes nothing.
var customDrivers = []profile.Driver{
	{
		Name: "npu", DriverName: "npu.example.org",
		TypeAttribute: "type", Types: map[string]v1alpha1.DeviceKind{"npu": v1alpha1.DeviceWhole},
		Memory:  profile.Memory{Attribute: "memory", Unit: "Mi"},
		Classes: []profile.Class{{Name: "npu.example.org", Choice: v1alpha1.ChoiceAny, Expression: `device.driver == "npu.example.org"`}},
	},
	{
		Name: "odd", DriverName: "odd.example.org", ProductAttribute: "names.example.org/model",
		TypeAttribute: "type", Types: map[string]v1alpha1.DeviceKind{"a": v1alpha1.DeviceWhole},
		Memory:  profile.Memory{Capacity: "in"},
		Classes: []profile.Class{{Name: "odd.example.org", Choice: v1alpha1.ChoiceAny, Expression: `device.driver == "odd.example.org"`}},
	},
	{
		Name: "bare", DriverName: "bare.example.org",
		Classes: []profile.Class{{Name: "bare.example.org", Choice: v1alpha1.ChoiceAny, Expression: `device.driver == "bare.example.org"`}},
	},
	{
		Name: "broken", DriverName: "broken.example.org",
		Classes: []profile.Class{{Name: "broken.example.org", Choice: v1alpha1.ChoiceAny, Expression: `device.driver = "x"`}},
	},
}

func profiles(t testing.TB) *profile.Set {
	t.Helper()
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	set, err := profile.NewSet(append(append([]profile.Driver{}, builtin...), customDrivers...)...)
	require.NoError(t, err)
	return set
}

func driver(t testing.TB, name string) *profile.Driver {
	t.Helper()
	d, ok := profiles(t).ByName(name)
	require.True(t, ok)
	return d
}

func quantity(s string) *resource.Quantity { return ptr.To(resource.MustParse(s)) }
