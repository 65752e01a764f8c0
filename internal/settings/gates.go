package settings

import (
	"fmt"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// DriverGate is a feature gate of a driver as it is in force on a node group.
type DriverGate struct {
	On bool
	// By is the path of the setting that decides it.
	By string
}

// DriverGates returns the gates of a driver on a group by name: what the profile knows by default, then what the group's
// partitioning and passthrough switch on, then `drivers`, then the group's own overrides. A gate of which nothing is known is
// not there. The helper `gpu-dra.driverGates` of the chart says the same; internal/charttest compares the two.
func DriverGates(s *Settings, g NodeGroup, d *profile.Driver) map[string]DriverGate {
	group := fmt.Sprintf("nodeGroups[name=%s]", g.Name)
	out := map[string]DriverGate{}
	for _, gate := range d.Gates {
		switch {
		case gate.Partitioning != "" && gate.Partitioning == g.Partitioning:
			out[gate.Name] = DriverGate{true, group + ".partitioning"}
		case gate.Passthrough && g.Passthrough:
			out[gate.Name] = DriverGate{true, group + ".passthrough"}
		default:
			out[gate.Name] = DriverGate{gate.Default, fmt.Sprintf("%s.drivers[%s]", group, d.Name)}
		}
	}
	for name, on := range s.Drivers[d.Name].FeatureGates {
		out[name] = DriverGate{on, fmt.Sprintf("drivers.%s.featureGates.%s", d.Name, name)}
	}
	for name, on := range g.DriverOverrides[d.Name].FeatureGates {
		out[name] = DriverGate{on, fmt.Sprintf("%s.driverOverrides.%s.featureGates.%s", group, d.Name, name)}
	}
	return out
}
