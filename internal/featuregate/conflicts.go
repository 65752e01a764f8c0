package featuregate

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Conflict is something about a gate, as it is set, that is wrong or will be.
type Conflict struct {
	Gate string
	// Message names components, instances and values, and says what to do.
	Message string
	// Ahead is true for what does no harm in the version that runs, but stops a component of the next minor from starting.
	Ahead bool
}

// Conflicts returns what is wrong with the gates that flags set, sorted by gate: one gate with two values in one argument
// list, in two instances of a component or in two components that read it; and what stops a component from starting in its
// own version or, marked Ahead, in the next: a gate that it does not know, a broken lock, a dependency that is off. Only
// gates of the table are judged, and names that look like DRA gates but are none.
func Conflicts(instances []Instance) []Conflict {
	instances = slices.Clone(instances)
	slices.SortStableFunc(instances, func(a, b Instance) int {
		return cmp.Or(cmp.Compare(a.Component, b.Component), cmp.Compare(a.Name, b.Name))
	})
	c := collector{}
	named := map[string]bool{}
	for _, i := range instances {
		if i.Unreadable != "" {
			continue
		}
		for name := range i.Set {
			named[name] = true
		}
		for _, t := range i.Twice {
			if InTable(t.Gate) {
				c.add(t.Gate, false, i, fmt.Sprintf("sets it to %s: the last value wins without a warning, keep one", sequence(t.Values)))
			}
		}
		c.starting(i)
		if i.Component == APIServer && !servesV1(i.RuntimeConfig) {
			c.add(DynamicResourceAllocation, false, i, "does not serve resource.k8s.io/v1 because of --runtime-config: "+
				"take the entry that turns it off away")
		}
	}
	for name := range named {
		c.differences(name, instances)
	}
	return c.sorted()
}

func sequence(values []bool) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", then ")
}

// servesV1 applies --runtime-config to resource.k8s.io/v1, which is on by default. The more specific key wins.
func servesV1(config map[string]bool) bool {
	for _, key := range []string{"resource.k8s.io/v1", "api/ga", "api/all"} {
		if on, ok := config[key]; ok {
			return on
		}
	}
	return true
}

// collector gathers findings; like ones of several instances become one conflict.
type collector map[finding][]string

type finding struct {
	gate, text string
	ahead      bool
}

func (c collector) add(gate string, ahead bool, i Instance, text string) {
	f := finding{gate: gate, text: text, ahead: ahead}
	c[f] = append(c[f], i.String())
}

// differences reports a gate that places which read it see differently because of someone's flags.
func (c collector) differences(name string, instances []Instance) {
	var on, off []string
	for _, component := range Readers(name) {
		var here [2][]string
		for _, i := range instancesOf(component, instances) {
			val := i.value(name)
			if _, set := i.Set[name]; set && val.known {
				if val.on {
					on = append(on, i.String())
				} else {
					off = append(off, i.String())
				}
			}
			if val.known {
				here[index(val.on)] = append(here[index(val.on)], fmt.Sprintf("%s (%s)", i, val.why))
			}
		}
		if len(here[0]) > 0 && len(here[1]) > 0 {
			c[finding{gate: name, text: fmt.Sprintf("on in %s, off in %s: give all instances of %s the same flags",
				strings.Join(here[1], ", "), strings.Join(here[0], ", "), component)}] = nil
			return
		}
	}
	if len(on) > 0 && len(off) > 0 {
		c[finding{gate: name, text: fmt.Sprintf("set to true in %s, to false in %s: these components read it, set one value",
			strings.Join(on, ", "), strings.Join(off, ", "))}] = nil
	}
}

func index(on bool) int {
	if on {
		return 1
	}
	return 0
}

func (c collector) sorted() []Conflict {
	var out []Conflict
	for f, places := range c {
		message := f.text
		if len(places) > 0 {
			message = strings.Join(places, ", ") + ": " + f.text
		}
		out = append(out, Conflict{Gate: f.gate, Message: message, Ahead: f.ahead})
	}
	slices.SortFunc(out, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(a.Gate, b.Gate), cmp.Compare(a.Message, b.Message))
	})
	return out
}

// starting reports what keeps an instance from starting, in its version and in the next.
func (c collector) starting(i Instance) {
	minor, ok := Minor(i.Version)
	if !ok {
		return
	}
	now := refusals(i, minor)
	for _, gate := range slices.Sorted(maps.Keys(now)) {
		c.add(gate, false, i, now[gate]+": the component does not start with these flags")
	}
	for gate, text := range refusals(i, minor+1) {
		if _, already := now[gate]; !already {
			c.add(gate, true, i, fmt.Sprintf("%s: after an upgrade to 1.%d the component does not start with these flags", text, minor+1))
		}
	}
}
