package webhook

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
)

func TestDevicesOfAClaim(t *testing.T) {
	exactly := func(mode resourcev1.DeviceAllocationMode, count int64) resourcev1.DeviceRequest {
		return resourcev1.DeviceRequest{Exactly: &resourcev1.ExactDeviceRequest{AllocationMode: mode, Count: count}}
	}
	first := func(list ...resourcev1.DeviceSubRequest) resourcev1.DeviceRequest {
		return resourcev1.DeviceRequest{FirstAvailable: list}
	}
	const all, some = resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount
	for name, c := range map[string]struct {
		requests []resourcev1.DeviceRequest
		want     int64
	}{
		"one":            {[]resourcev1.DeviceRequest{exactly(some, 1)}, 1},
		"nothing said":   {[]resourcev1.DeviceRequest{exactly("", 0)}, 1},
		"two requests":   {[]resourcev1.DeviceRequest{exactly(some, 2), exactly(some, 3)}, 5},
		"all":            {[]resourcev1.DeviceRequest{exactly(some, 2), exactly(all, 0)}, 0},
		"alternatives":   {[]resourcev1.DeviceRequest{first(resourcev1.DeviceSubRequest{Count: 4}, resourcev1.DeviceSubRequest{Count: 1})}, 4},
		"an alternative": {[]resourcev1.DeviceRequest{first(resourcev1.DeviceSubRequest{}, resourcev1.DeviceSubRequest{AllocationMode: all})}, 0},
	} {
		require.Equal(t, c.want, devicesOf(resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: c.requests}}), name)
	}
}
