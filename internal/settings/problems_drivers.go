package settings

import (
	"fmt"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// driverProblems are settings of one driver that its plugin has no use for, or does not start with; path is that of the settings. A driver
// without a plugin is installed by other means: its gates are said so that gpu-dra knows of them.
func driverProblems(path string, c DriverConfig, d *profile.Driver) []Problem {
	p := d.Plugin
	if p == nil {
		return nil
	}
	var out []Problem
	for _, gate := range sortedKeys(c.FeatureGates) {
		if !p.TakesGate(gate) {
			out = append(out, Problem{path + ".featureGates." + gate, fmt.Sprintf(
				"found %t, expected none: the plugin of the driver %s takes no such gate; remove it", c.FeatureGates[gate], d.Name)})
		}
	}
	if c.LogLevel == nil {
		return out
	}
	switch level, l := *c.LogLevel, p.LogLevels; {
	case !p.TakesLogLevel():
		out = append(out, Problem{path + ".logLevel", fmt.Sprintf("found %d, expected none: the plugin of the driver %s takes no log level; remove it", level, d.Name)})
	case l != nil && (level < l.Min || level > l.Max):
		out = append(out, Problem{path + ".logLevel", fmt.Sprintf(
			"found %d, expected %d to %d: the plugin of the driver %s starts with no other", level, l.Min, l.Max, d.Name)})
	}
	return out
}
