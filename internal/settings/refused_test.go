package settings

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

func TestRefusedDrivers(t *testing.T) {
	s := parse(t, `
customDrivers:
- {name: thief, driverName: gpu.nvidia.com}
- {name: nvidia, driverName: gpu.nvidia.com, topology: {PCIeRoot: nodomain}}
- {name: broken, driverName: npu.broken.example, classes: [{name: a.example, expression: "true"}, {name: b.example, expression: device.drvier == "x"}]}
- {name: example, driverName: gpu.example.com, productAttribute: sku}
- {name: good, driverName: npu.good.example}
`)
	set, problems := Profiles(s)
	require.Equal(t, []string{"broken", "nvidia", "thief"}, RefusedDrivers(s, set))
	require.Len(t, problems, 3)
	require.Equal(t, "customDrivers[2].classes[1].expression", problems[2].Path)
	require.Contains(t, problems[2].Message, "line 1, column 7: undefined field 'drvier'")
	nvidia, ok := set.ByName("nvidia")
	require.True(t, ok)
	require.NotEmpty(t, nvidia.Classes, "the built-in one stays")

	none, _ := Profiles(&Settings{})
	require.Empty(t, RefusedDrivers(&Settings{}, none))
}

func TestRefusedDeviceClasses(t *testing.T) {
	s := parse(t, `
deviceClasses:
  extra:
  - {name: z.example.com, selectors: ["true", "device.driver"]}
  - {name: good.example.com, selectors: ["true"]}
  - {name: a.example.com, selectors: ["1 +"]}
`)
	require.Equal(t, []string{"a.example.com", "z.example.com"}, RefusedDeviceClasses(s))
	require.Empty(t, RefusedDeviceClasses(&Settings{}))

	set, _ := Profiles(s)
	problems := Problems(s, set, profile.Distribution{Name: "Vanilla"})
	require.Len(t, problems, 2)
	require.Equal(t, "deviceClasses.extra[0].selectors[1]", problems[0].Path)
	require.Contains(t, problems[0].Message, "must evaluate to bool")
	require.Equal(t, "deviceClasses.extra[2].selectors[0]", problems[1].Path)
	require.Contains(t, problems[1].Message, "Syntax error")
}
