package featuregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// unseen reports components of the control plane whose flags can't be judged.
func (f findings) unseen(c Cluster, from, to int) {
	if to <= from {
		return
	}
	const look = "look yourself whether they stop it"
	for _, component := range []string{APIServer, ControllerManager, Scheduler} {
		all := instancesOf(component, c.Instances)
		if len(all) == 0 {
			f.add(Finding{To: from + 1, Component: component, Text: "its flags can't be read, no instance of it was seen: " + look})
		}
		for _, i := range all {
			one := Finding{To: from + 1, Component: component, Instances: []string{i.Name}}
			minor, versioned := Minor(i.Version)
			if versioned {
				one.To = minor + 1
			}
			if one.To > to {
				continue
			}
			switch {
			case i.Unreadable != "":
				one.Text = fmt.Sprintf("its flags can't be read (%s): %s", i.Unreadable, look)
			case !versioned:
				one.Text = "its version can't be read, so its flags can't be judged: " + look
			case i.File != "":
				one.Text = fmt.Sprintf("flags in %s can't be read: %s", i.File, look)
			default:
				continue
			}
			f.add(one)
		}
	}
}

// refused reports gates that stop an instance in a later minor, each once, and what the sources announce.
func (f findings) refused(i Instance, to int) {
	minor, ok := Minor(i.Version)
	if !ok || i.Unreadable != "" {
		return
	}
	said := refusals(i, minor)
	for next := minor + 1; next <= min(to, newest); next++ {
		now := refusals(i, next)
		for gate, text := range now {
			if said[gate] == "" {
				f.add(Finding{To: next, Stops: true, Gate: gate, Component: i.Component, Instances: []string{i.Name}, Text: text})
				said[gate] = text
			}
		}
	}
	for gate, on := range i.Set {
		g := table[gate]
		s, p := lookup(gate, newest)
		if said[gate] != "" || p != present {
			continue
		}
		// A gate whose announced removal is overdue may go with any next minor.
		if at := max(g.removalAnnounced, newest+1); g.removalAnnounced != 0 && at <= to {
			f.add(Finding{To: at, Gate: gate, Component: i.Component, Instances: []string{i.Name},
				Text: fmt.Sprintf("the sources announce its removal for 1.%d: take it out of the flags, it is %t by itself", g.removalAnnounced, s.on)})
		}
		if at := max(g.lockAnnounced, newest+1); g.lockAnnounced != 0 && at <= to && on != s.on {
			f.add(Finding{To: at, Gate: gate, Component: i.Component, Instances: []string{i.Name},
				Text: fmt.Sprintf("the sources announce that it is locked to %t in 1.%d: it is set to %t", s.on, g.lockAnnounced, on)})
		}
	}
}

// apis reports entries of --runtime-config that a later API server refuses, and entries that gates need there.
func (f findings) apis(i Instance, to int) {
	minor, ok := Minor(i.Version)
	if !ok || i.Component != APIServer || i.Unreadable != "" {
		return
	}
	said := map[string]bool{}
	for next := minor; next <= min(to, newest); next++ {
		// What is so already is no matter of the upgrade.
		add := func(key string, found Finding) {
			if !said[key] && next > minor {
				found.To, found.Stops, found.Component, found.Instances = next, true, i.Component, []string{i.Name}
				f.add(found)
			}
			said[key] = true
		}
		for key, text := range unregistered(i, next) {
			add(key, Finding{Text: text})
		}
		for _, gate := range slices.Sorted(maps.Keys(table)) {
			if on := i.valueAt(gate, next); !on.on || removedAt(gate, next) {
				continue
			}
			for _, api := range apisFor(gate, next) {
				if !slices.Contains(registered[next], api.GroupVersion) {
					continue
				}
				if keys := missing(i.RuntimeConfig, api.GroupVersion, api.Resources, false); len(keys) > 0 {
					add(gate, Finding{Gate: gate, Text: fmt.Sprintf("it needs %s from then on, which is off: add it to --runtime-config", strings.Join(keys, ", "))})
				}
			}
		}
	}
}
