package reservation

import (
	"fmt"
	"strconv"

	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// Modes of the setting memoryReservation.mode.
const (
	ModeOff    = "Off"
	ModeAdvise = "Advise"
	ModeApply  = "Apply"
)

// Effective returns the settings of one node group: the whole cluster's, and over them what the group says itself.
func Effective(cluster, group settings.MemoryReservation) settings.MemoryReservation {
	out := cluster
	if group.Mode != "" {
		out.Mode = group.Mode
	}
	if group.SystemNeed != nil {
		out.SystemNeed = group.SystemNeed
	}
	if group.Base != nil {
		out.Base = group.Base
	}
	if group.PerDevice != nil {
		out.PerDevice = group.PerDevice
	}
	if group.Overhead != 0 {
		out.Overhead = group.Overhead
	}
	if group.MinDevices != 0 {
		out.MinDevices = group.MinDevices
	}
	return out
}

// figures writes down the numbers of the settings that a reservation was computed with. They stand in our annotation: a
// reservation goes down only when a person changed them, never because a node left.
func figures(s settings.MemoryReservation) string {
	return fmt.Sprintf("systemNeed=%s base=%s perDevice=%s overhead=%s minDevices=%d", Quantity(settingBytes(s.SystemNeed)),
		Quantity(settingBytes(s.Base)), Quantity(settingBytes(s.PerDevice)), strconv.FormatFloat(s.Overhead, 'g', -1, 64), s.MinDevices)
}
