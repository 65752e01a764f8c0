package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// chosen are the gates that accelerators depend on by themselves; what those depend on comes with them.
var chosen = regexp.MustCompile(`^(DRA.*|DynamicResourceAllocation|KubeletPodResources.*|ResourceHealthStatus.*|(Legacy)?SidecarContainers` +
	`|MemoryManager|DevicePluginCDIDevices|NodeDeclaredFeatures|GenericWorkload|GangScheduling)$`)

// selected returns the gates of all sources that the table has, sorted.
func selected(all []*source) []string {
	names := map[string]bool{}
	var add func(string)
	add = func(gate string) {
		if names[gate] {
			return
		}
		names[gate] = true
		for _, s := range all {
			for _, need := range s.needs[gate] {
				add(need)
			}
		}
	}
	for _, s := range all {
		for gate := range s.specs {
			if chosen.MatchString(gate) {
				add(gate)
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// stages returns what binaries of each minor have of a gate: those that differ from the minor before. The history from before
// the oldest source is that source's own. A gate that a source has no more ends with the stage "removed".
func stages(gate string, all []*source) ([]spec, error) {
	var out []spec
	for n, s := range all {
		list, there := s.specs[gate]
		switch {
		case !there && len(out) > 0 && out[len(out)-1].stage != "removed":
			before := out[len(out)-1]
			out = append(out, spec{from: s.minor, stage: "removed", on: before.on, locked: true})
			continue
		case !there:
			continue
		}
		now := upTo(list, s.minor)
		switch {
		case len(now) == 0:
			return nil, fmt.Errorf("gate %s: Kubernetes %s has it, but no stage of it", gate, s.version)
		case n == 0:
			out = now
			continue
		}
		// Stages from before the gate's name was known, and of versions in between, are for emulated versions.
		now = latest(now)
		if len(out) > 0 && slices.EqualFunc(latest(out), now, spec.same) {
			continue
		}
		for i := range now {
			now[i].from = s.minor
		}
		out = append(out, now...)
	}
	return out, nil
}

// same says that two are one stage; what is announced of it may have changed.
func (s spec) same(other spec) bool {
	return s.stage == other.stage && s.on == other.on && s.locked == other.locked && s.minCompat == other.minCompat
}

// upTo leaves out what is of later minors.
func upTo(list []spec, minor int) []spec {
	return slices.DeleteFunc(slices.Clone(list), func(s spec) bool { return s.from > minor })
}

// latest are the specs of the newest version in a list: one, or one more for each minimum compatibility version.
func latest(list []spec) []spec {
	newest := list[len(list)-1].from
	return slices.DeleteFunc(slices.Clone(list), func(s spec) bool { return s.from != newest })
}

// dependency is what a gate depends on from a minor on.
type dependency struct {
	from  int
	gates []string
}

// dependencies returns where a gate's dependencies begin or change.
func dependencies(gate string, all []*source) []dependency {
	var out []dependency
	for _, s := range all {
		if _, there := s.specs[gate]; s.needs == nil || !there {
			continue
		}
		now := slices.Sorted(slices.Values(s.needs[gate]))
		if len(out) == 0 && len(now) == 0 || len(out) > 0 && slices.Equal(out[len(out)-1].gates, now) {
			continue
		}
		out = append(out, dependency{s.minor, now})
	}
	return out
}

// promises returns what the newest source that has a gate announces of it.
func promises(gate string, all []*source) (lock, removal int) {
	for _, s := range slices.Backward(all) {
		if list := s.specs[gate]; len(list) > 0 {
			one := list[len(list)-1]
			return one.lockAnnounced, one.removalAnnounced
		}
	}
	return 0, 0
}
