package featuregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// differences reports a gate that places which read it see differently because of someone's flags.
func differences(name string, instances []Instance) *Conflict {
	var on, off []string
	for _, component := range Readers(name) {
		if component == Kubelet {
			// Nodes may differ on purpose; what is wrong with one is said of it.
			continue
		}
		var here [2][]string
		var values []bool
		for _, i := range instancesOf(component, instances) {
			val := i.value(name)
			if !val.known {
				continue
			}
			here[index(val.on)] = append(here[index(val.on)], fmt.Sprintf("%s (%s)", i, val.why))
			if _, set := i.Set[name]; set {
				values = append(values, val.on)
				if val.on {
					on = append(on, i.String())
				} else {
					off = append(off, i.String())
				}
			}
		}
		if len(here[0]) > 0 && len(here[1]) > 0 {
			return &Conflict{Gate: name, Component: component, Values: values, Text: fmt.Sprintf("on in %s, off in %s: give all instances of %s the same flags",
				strings.Join(here[1], ", "), strings.Join(here[0], ", "), component)}
		}
	}
	if len(on) > 0 && len(off) > 0 {
		return &Conflict{Gate: name, Values: []bool{true, false}, Text: fmt.Sprintf("set to true in %s, to false in %s: these components read it, set one value",
			strings.Join(on, ", "), strings.Join(off, ", "))}
	}
	return nil
}

// groupDifferences reports instances of one component and version of which some set every gate of a stage and some do not. In the
// middle of an upgrade versions may differ in it: which gates those are differs as well.
func groupDifferences(name string, instances []Instance) []Conflict {
	var out []Conflict
	for _, component := range []string{APIServer, ControllerManager, Scheduler} {
		byVersion := map[string][]Instance{}
		for _, i := range instancesOf(component, instances) {
			if i.Unreadable == "" && i.Version != "" {
				byVersion[i.Version] = append(byVersion[i.Version], i)
			}
		}
		for _, version := range slices.Sorted(maps.Keys(byVersion)) {
			places := map[string][]string{}
			var values []bool
			for _, i := range byVersion[version] {
				how := "not set"
				if on, set := i.Set[name]; set {
					how = fmt.Sprintf("set to %t", on)
					values = append(values, on)
				}
				places[how] = append(places[how], i.String())
			}
			if len(places) < 2 {
				continue
			}
			var parts []string
			for _, how := range slices.Sorted(maps.Keys(places)) {
				parts = append(parts, how+" in "+strings.Join(places[how], ", "))
			}
			out = append(out, Conflict{Gate: name, Component: component, Values: values,
				Text: fmt.Sprintf("%s: give all instances of %s the same flags", strings.Join(parts, ", "), component)})
		}
	}
	return out
}

func index(on bool) int {
	if on {
		return 1
	}
	return 0
}
