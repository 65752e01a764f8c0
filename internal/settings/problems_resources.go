package settings

import (
	"fmt"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// resourceProblems are resources of containers that the API server refuses. The helper `gpu-dra.checkSettingsResources` of the
// chart says the same.
func resourceProblems(s *Settings) []Problem {
	var out []Problem
	check := func(path string, r *Resources) {
		if r == nil {
			return
		}
		for _, f := range profile.ResourceFaults(r.Requests, r.Limits) {
			out = append(out, Problem{path + "." + f.Field, fmt.Sprintf("found %q, expected %s", f.Found, f.Expected)})
		}
	}
	check("controller.resources", s.Controller.Resources)
	eachDriverConfig(s, func(path, _ string, config DriverConfig) {
		check(path+".resources", config.Resources)
		if config.Exporter != nil {
			check(path+".exporter.resources", config.Exporter.Resources)
		}
	})
	return out
}

// eachDriverConfig calls f for the settings of each driver, those of all groups and those of single ones, with their path and the
// driver they are for.
func eachDriverConfig(s *Settings, f func(path, driver string, config DriverConfig)) {
	for _, name := range sortedKeys(s.Drivers) {
		f("drivers."+name, name, s.Drivers[name])
	}
	for i, g := range s.NodeGroups {
		for _, name := range sortedKeys(g.DriverOverrides) {
			f(fmt.Sprintf("nodeGroups[%d].driverOverrides.%s", i, name), name, g.DriverOverrides[name])
		}
	}
}
