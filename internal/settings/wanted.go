package settings

import "slices"

// WantedDrivers names the driver profiles whose DeviceClasses the chart creates, sorted: those of groups that are not passive,
// and those that only claim templates name. A profile all of whose groups are passive is left to the other manager. The
// helper `gpu-dra.wantedDrivers` in templates/_profiles.tpl says the same; internal/charttest compares the two.
func WantedDrivers(s *Settings) []string {
	listed, active := map[string]bool{}, map[string]bool{}
	for _, g := range s.NodeGroups {
		for _, d := range g.Drivers {
			listed[d] = true
			if !g.Passive {
				active[d] = true
			}
		}
	}
	for _, t := range s.ClaimTemplates {
		if !listed[t.Driver] {
			active[t.Driver] = true
		}
	}
	var out []string
	for d := range active {
		out = append(out, d)
	}
	slices.Sort(out)
	return out
}
