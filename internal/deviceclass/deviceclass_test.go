package deviceclass

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

func TestWanted(t *testing.T) {
	profiles, err := profile.NewSet(
		profile.Driver{Name: "a", DriverName: "a.example.com", Classes: []profile.Class{{Name: "a-whole"}, {Name: "a-part"}}},
		profile.Driver{Name: "b", DriverName: "b.example.com", Classes: []profile.Class{{Name: "b-whole"}}})
	require.NoError(t, err)
	s := &settings.Settings{NodeGroups: []settings.NodeGroup{{Name: "g", Drivers: []string{"a", "unknown"}}}}
	s.DeviceClasses.Extra = []settings.ExtraClass{{Name: "own"}, {Name: "refused", Selectors: []string{"1 +"}}}
	names := func() []string { return slices.Sorted(maps.Keys(Wanted(s, profiles))) }
	require.Equal(t, []string{"a-part", "a-whole", "own"}, names())

	// The chart creates the classes of a driver that only a claim template names, so one of somebody else's must be seen.
	s.ClaimTemplates = []settings.ClaimTemplate{{Name: "t"}}
	s.ClaimTemplates[0].Driver = "b"
	require.Equal(t, []string{"a-part", "a-whole", "b-whole", "own"}, names())
	s.ClaimTemplates = nil

	s.DeviceClasses.Classes = map[string]settings.ClassChoice{"a-part": {Create: "Never"}}
	require.Equal(t, []string{"a-whole", "own"}, names())

	s.DeviceClasses.Create = "Never"
	s.DeviceClasses.Classes = map[string]settings.ClassChoice{"a-part": {Create: "Always"}}
	require.Equal(t, []string{"a-part"}, names())
}

func TestOurs(t *testing.T) {
	is := func(key, value string) map[string]string { return map[string]string{key: value} }
	for _, underHooks := range []bool{false, true} {
		require.True(t, Ours(is(LabelModule, "gpu-dra"), underHooks))
		require.False(t, Ours(is(labelName, "other-driver"), underHooks))
		require.False(t, Ours(nil, underHooks))
	}
	require.True(t, Ours(is(labelName, "gpu-dra"), false))
	require.False(t, Ours(is(labelName, "gpu-dra"), true), "that of a plain release, which deletes it when it is uninstalled")
}
