package claim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// A class is asked what it gives: the profile need not say it twice.
func TestClassKinds(t *testing.T) {
	const whole, partition, passthrough, other = v1alpha1.DeviceWhole, v1alpha1.DevicePartition, v1alpha1.DevicePassthrough, v1alpha1.DeviceOther
	typed := profile.Driver{DriverName: "d", TypeAttribute: "type",
		Types: map[string]v1alpha1.DeviceKind{"gpu": whole, "mig": partition, "vfio": passthrough}}
	for expression, want := range map[string][]v1alpha1.DeviceKind{
		`device.driver == "d"`: {whole, partition, passthrough, other},
		`device.driver == "d" && device.attributes["d"].type == "gpu"`:                             {whole},
		`device.driver == "d" && device.attributes["d"].type in ["mig", "gpu"]`:                    {whole, partition},
		`device.driver == "d" && device.attributes["d"].type != "vfio"`:                            {whole, partition, other},
		`device.attributes["d"].type == "gpu" && device.attributes["d"].partitionProfile == "spx"`: {whole},
		`device.driver == "e"`: {},
	} {
		got, err := classKinds(&typed, profile.Class{Expression: expression})
		require.Nil(t, err)
		assert.Equal(t, want, got, expression)
	}
	untyped := profile.Driver{DriverName: "d"}
	got, err := classKinds(&untyped, profile.Class{Expression: `device.driver == "d"`})
	require.Nil(t, err)
	assert.Equal(t, []v1alpha1.DeviceKind{whole}, got)
}
