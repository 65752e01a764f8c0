package settings

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const controllerConfig = `
underHooks: true
namespace: d8-gpu-dra
distribution:
  name: Deckhouse
  nodeGroupLabel: node.deckhouse.io/group
settings:
  nodeGroups:
  - name: gpu-a100
    drivers: [nvidia, acme]
  customDrivers:
  - name: acme
    driverName: npu.acme.example
drivers:
  nvidia:
    name: nvidia
    driverName: gpu.nvidia.com
`

func TestParseControllerConfig(t *testing.T) {
	c, err := ParseControllerConfig([]byte(controllerConfig))
	require.NoError(t, err)
	require.True(t, c.UnderHooks)
	require.Equal(t, "d8-gpu-dra", c.Namespace)
	require.Equal(t, "node.deckhouse.io/group", c.Distribution.NodeGroupLabel)
	require.Equal(t, "None", c.Settings.NodeGroups[0].Partitioning)
	set, problems := c.Profiles()
	require.Empty(t, problems)
	require.Len(t, set.All(), 2)
}

func TestParseControllerConfigRefuses(t *testing.T) {
	const tail = "\nsettings: {}\ndrivers: {a: {name: a, driverName: a.example}}"
	for in, says := range map[string]string{
		"{":            "did not find expected node content",
		"{}":           "namespace: missing",
		"namespace: x": "distribution.name: missing",
		"namespace: x\ndistribution: {name: Vanilla}":                                                               "drivers: missing",
		"namespace: x\ndistribution: {name: Vanilla}\nhooks: true" + tail:                                           `unknown field "hooks"`,
		"namespace: x\ndistribution: {name: Vanilla, label: y}" + tail:                                              `unknown field "label"`,
		"namespace: x\ndistribution: {name: Vanilla}\nsettings: {foo: 1}\ndrivers: {a: {name: a}}":                  "settings: foo: unknown key",
		"namespace: x\ndistribution: {name: Vanilla}\nsettings: {}\ndrivers: {a: {name: b, driverName: b.example}}": `drivers.a.name: found "b", expected "a"`,
	} {
		_, err := ParseControllerConfig([]byte(in))
		require.ErrorContains(t, err, says, in)
	}
}
