package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// GroupGates are the feature gates of one driver that are in force on the nodes of each node group, by the group's name. A
// gate of which nothing is known is not there.
type GroupGates map[string]map[string]bool

// DriverGates returns the gates of a driver in the groups where the chart runs it (settings.DriverGates). It is nil where the
// settings do not decide: the chart does not run this driver, or a group leaves it to another manager.
func DriverGates(s *settings.Settings, d *profile.Driver) GroupGates {
	if s == nil || d.Plugin == nil {
		return nil
	}
	out := GroupGates{}
	for _, g := range s.NodeGroups {
		if !slices.Contains(g.Drivers, d.Name) {
			continue
		}
		if g.Passive {
			return nil
		}
		gates := map[string]bool{}
		for name, gate := range settings.DriverGates(s, g, d) {
			gates[name] = gate.On
		}
		out[g.Name] = gates
	}
	return out
}

// sharingGates says in which groups a gate that the template's sharing needs is off, and which gates those are; both
// sorted. Where it is off the driver refuses the config when a pod starts, which the scheduler cannot foresee.
func sharingGates(spec v1alpha1.GPUClaimTemplateSpec, d *profile.Driver, groups GroupGates) (gates, off []string) {
	if spec.Sharing == nil || d.Sharing == nil {
		return nil, nil
	}
	for _, group := range sortedKeys(groups) {
		for _, gate := range d.Sharing.Strategies[spec.Sharing.Strategy].Gates {
			if on, known := groups[group][gate]; known && !on {
				gates, off = append(gates, gate), append(off, group)
			}
		}
	}
	return sortedSet(gates), sortedSet(off)
}

// sharingOff says that no group can share as the template asks, and what to set: "" when one can or nothing is known.
func sharingOff(spec v1alpha1.GPUClaimTemplateSpec, d *profile.Driver, groups GroupGates) string {
	gates, off := sharingGates(spec, d, groups)
	if len(off) == 0 || len(off) < len(groups) {
		return ""
	}
	set := make([]string, len(gates))
	for i, gate := range gates {
		set[i] = fmt.Sprintf("drivers.%s.featureGates.%s: true", d.Name, gate)
	}
	message := fmt.Sprintf("spec.sharing.strategy: %s needs the gate %s of driver %s, which is off in every node group that runs it: %s.",
		spec.Sharing.Strategy, strings.Join(gates, ", "), d.Name, some(off))
	if rivals := rivalsOf(gates, d, groups); len(rivals) > 0 {
		return message + fmt.Sprintf(" It cannot be on together with %s, which is on there. Give a node group without that to this driver, or remove spec.sharing.", strings.Join(rivals, ", "))
	}
	return message + fmt.Sprintf(" Set %s, or remove spec.sharing.", strings.Join(set, ", "))
}

// rivalsOf returns the gates that are on in every group and exclude one of the given: sorted, none if some group is free.
func rivalsOf(gates []string, d *profile.Driver, groups GroupGates) []string {
	var rivals []string
	for _, group := range sortedKeys(groups) {
		found := false
		for _, gate := range d.Gates {
			for _, other := range gate.Excludes {
				for _, pair := range [][2]string{{gate.Name, other}, {other, gate.Name}} {
					if slices.Contains(gates, pair[0]) && groups[group][pair[1]] {
						rivals, found = append(rivals, pair[1]), true
					}
				}
			}
		}
		if !found {
			return nil
		}
	}
	return sortedSet(rivals)
}
