package featuregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// differences reports a gate that places which read it see differently because of someone's flags: instances of one component, two
// components that were told otherwise, or one that was told and one that was not.
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
		// Where none of them was told, they differ by version alone.
		if len(values) > 0 && len(here[0]) > 0 && len(here[1]) > 0 {
			return &Conflict{Gate: name, Component: component, Values: values, Text: fmt.Sprintf("on in %s, off in %s: give all instances of %s the same flags",
				strings.Join(here[1], ", "), strings.Join(here[0], ", "), component)}
		}
	}
	if len(on) > 0 && len(off) > 0 {
		return &Conflict{Gate: name, Values: []bool{true, false}, Text: fmt.Sprintf("set to true in %s, to false in %s: these components read it, set one value",
			strings.Join(on, ", "), strings.Join(off, ", "))}
	}
	return defaultDifference(name, instances)
}

// defaultDifference reports components that read a gate and see it differently because only some of them were told: a slice that the
// API server takes does nothing where the scheduler passes over it. Those of one version are compared, since defaults differ
// between versions by themselves, and only where somebody set the gate.
func defaultDifference(name string, instances []Instance) *Conflict {
	type places struct {
		seen [2][]string
		set  []bool
	}
	byMinor := map[int]*places{}
	for _, component := range Readers(name) {
		// Of kubelets the same holds as above.
		if component == Kubelet {
			continue
		}
		for _, i := range instancesOf(component, instances) {
			minor, ok := Minor(i.Version)
			val := i.value(name)
			if !ok || !val.known {
				continue
			}
			at := byMinor[i.effective(minor)]
			if at == nil {
				at = &places{}
				byMinor[i.effective(minor)] = at
			}
			at.seen[index(val.on)] = append(at.seen[index(val.on)], fmt.Sprintf("%s (%s)", i, val.why))
			if on, set := i.Set[name]; set {
				at.set = append(at.set, on)
			}
		}
	}
	for _, minor := range slices.Sorted(maps.Keys(byMinor)) {
		if at := byMinor[minor]; len(at.set) > 0 && len(at.seen[0]) > 0 && len(at.seen[1]) > 0 {
			return &Conflict{Gate: name, Values: slices.Compact(at.set), Text: fmt.Sprintf("on in %s, off in %s: these components read it, set one value",
				strings.Join(at.seen[1], ", "), strings.Join(at.seen[0], ", "))}
		}
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
