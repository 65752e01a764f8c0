package gpunode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/gpunode"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

func devices(kind v1alpha1.DeviceKind, count int32, partition string) v1alpha1.DeviceGroup {
	return v1alpha1.DeviceGroup{Driver: "gpu.nvidia.com", Kind: kind, Type: "t", Partition: partition, Count: count}
}

func TestPartitioningDiffers(t *testing.T) {
	whole := devices(v1alpha1.DeviceWhole, 8, "")
	parts := devices(v1alpha1.DevicePartition, 7, "1g.10gb")
	passthrough := devices(v1alpha1.DevicePassthrough, 4, "")
	for name, c := range map[string]struct {
		setting string
		devices []v1alpha1.DeviceGroup
		change  func(*gpunode.Input)
		// says what the message has to name; nothing: the devices are healthy.
		says []string
	}{
		"None, whole":              {setting: "None", devices: []v1alpha1.DeviceGroup{whole}},
		"None, passthrough":        {setting: "None", devices: []v1alpha1.DeviceGroup{passthrough}},
		"None, parts":              {setting: "None", devices: []v1alpha1.DeviceGroup{whole, parts}, says: []string{"nodeGroups[name=gpu].partitioning is None", "gpu.nvidia.com publishes 7 partitions here (1g.10gb)", "set Static"}},
		"no setting, parts":        {devices: []v1alpha1.DeviceGroup{parts}, says: []string{"is None"}},
		"Static, parts":            {setting: "Static", devices: []v1alpha1.DeviceGroup{parts}},
		"Static, parts and whole":  {setting: "Static", devices: []v1alpha1.DeviceGroup{whole, parts}},
		"Static, whole":            {setting: "Static", devices: []v1alpha1.DeviceGroup{whole}, says: []string{"is Static", "no partition here (whole devices: 8, passthrough devices: 0)", "or set None"}},
		"Static, passthrough":      {setting: "Static", devices: []v1alpha1.DeviceGroup{passthrough}, says: []string{"passthrough devices: 4"}},
		"Dynamic, parts and whole": {setting: "Dynamic", devices: []v1alpha1.DeviceGroup{whole, parts}},
		"Dynamic, whole":           {setting: "Dynamic", devices: []v1alpha1.DeviceGroup{whole}, says: []string{"is Dynamic", "nothing here that can be cut", "FeatureGatesConsistent"}},
		"many profiles": {setting: "None", devices: []v1alpha1.DeviceGroup{parts, devices(v1alpha1.DevicePartition, 3, "2g.20gb"), devices(v1alpha1.DevicePartition, 2, "3g.40gb"),
			devices(v1alpha1.DevicePartition, 1, "4g.40gb"), parts}, says: []string{"20 partitions here (1g.10gb, 2g.20gb, 3g.40gb and 1 more)"}},
		"not registered": {setting: "Static", devices: []v1alpha1.DeviceGroup{whole}, change: func(in *gpunode.Input) { in.Drivers[0].Registered = false }},
		"passive":        {setting: "Static", devices: []v1alpha1.DeviceGroup{whole}, change: func(in *gpunode.Input) { in.Groups[0].Passive = true }},
		"a driver beside it that cannot cut": {setting: "Static", devices: []v1alpha1.DeviceGroup{parts, {Driver: "gpu.plain.example", Kind: v1alpha1.DeviceWhole, Count: 2}},
			change: func(in *gpunode.Input) { in.Groups[0].Drivers = []string{"plain", "nvidia"} }},
		"only drivers that cannot cut": {setting: "Static", devices: []v1alpha1.DeviceGroup{{Driver: "gpu.plain.example", Kind: v1alpha1.DeviceWhole, Count: 2}}, change: func(in *gpunode.Input) {
			in.Groups[0].Drivers = []string{"plain"}
			in.Drivers = []gpunode.Driver{{Name: "gpu.plain.example", Registered: true}}
		}},
		"partitions of a driver that the group does not list": {setting: "None", devices: []v1alpha1.DeviceGroup{parts}, change: func(in *gpunode.Input) { in.Groups[0].Drivers = []string{"plain"} }},
		"a second group": {setting: "Static", devices: []v1alpha1.DeviceGroup{parts}, change: func(in *gpunode.Input) {
			in.Groups = append(in.Groups, settings.NodeGroup{Name: "also", Drivers: []string{"nvidia"}})
		}, says: []string{"nodeGroups[name=also].partitioning is None"}},
	} {
		t.Run(name, func(t *testing.T) {
			in := input(t)
			in.Groups[0].Partitioning = c.setting
			in.Drivers, in.Devices = published(8), c.devices
			if c.change != nil {
				c.change(&in)
			}
			s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
			got := condition.Find(s.Conditions, condition.DevicesHealthy)
			if len(c.says) == 0 {
				require.Equal(t, condition.NodeDevicesHealthy, got.Reason, got.Message)
				return
			}
			require.Equal(t, condition.NodePartitioningDiffers, got.Reason)
			for _, part := range c.says {
				require.Contains(t, got.Message, part)
			}
		})
	}
}

// A fault of a device is said before a setting that does not fit.
func TestFaultsGoBeforePartitioning(t *testing.T) {
	in := input(t)
	in.Drivers, in.Devices = published(8), []v1alpha1.DeviceGroup{devices(v1alpha1.DevicePartition, 7, "1g.10gb")}
	in.Drivers[0].Counts.Tainted = 1
	s, _ := gpunode.Compute(v1alpha1.GPUNodeStatus{}, in, start)
	require.Equal(t, condition.NodeDevicesTainted, condition.Find(s.Conditions, condition.DevicesHealthy).Reason)
}
