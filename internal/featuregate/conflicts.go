package featuregate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Conflict is something about a gate, as it is set, that is wrong or will be.
type Conflict struct {
	Gate string
	// Component that it is about; empty where it is about two of them.
	Component string
	// Instance (pod or node) that it is about; empty where it is about several.
	Instance string
	// Values that the gate is given, in the order in which they are given; empty where nobody sets it.
	Values []bool
	// Effective is the value that the component goes by; nil where places differ or the component does not start.
	Effective *bool
	// Text says what is wrong and what to do, without the place.
	Text string
	// Ahead is the minor from which this stops the component; 0 for what is wrong now.
	Ahead int
}

// Place names the component and the instance, "" for a conflict between several.
func (c Conflict) Place() string {
	if c.Instance == "" {
		return ""
	}
	return c.Component + " " + c.Instance
}

// Message is the text with the place before it.
func (c Conflict) Message() string {
	if place := c.Place(); place != "" {
		return place + ": " + c.Text
	}
	return c.Text
}

// Harmless says that nothing behaves otherwise because of it: an instance that is given one value more than once. Two set it there,
// which is to be known before one of them changes it.
func (c Conflict) Harmless() bool {
	return c.Instance != "" && c.Ahead == 0 && len(c.Values) > 1 && len(slices.Compact(slices.Clone(c.Values))) == 1
}

// Conflicts returns what is wrong with the gates that flags set, sorted by gate: one gate twice in one argument list, with two
// values in two instances of a component or in two components that read it; and what stops a component from starting in its
// own version or, marked Ahead, in the next: a gate that it does not know, a broken lock, a dependency that is off, an entry of
// --runtime-config that it does not have. Only gates of the table are judged, and names that look like DRA gates but are none.
func Conflicts(instances []Instance) []Conflict {
	var out []Conflict
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
				won := i.Set[t.Gate]
				c := Conflict{Gate: t.Gate, Component: i.Component, Instance: i.Name, Values: t.Values, Effective: &won,
					Text: fmt.Sprintf("sets it to %s: the last value (%t) wins without a warning, keep one", sequence(t.Values), won)}
				if c.Harmless() {
					c.Text = fmt.Sprintf("sets it to %t %d times: nothing behaves otherwise, but a later change of one of them may do nothing, keep one", won, len(t.Values))
				}
				out = append(out, c)
			}
		}
		out = append(out, starting(i)...)
		if off := missing(i.RuntimeConfig, "resource.k8s.io/v1", draResources, true); i.Component == APIServer && len(off) > 0 {
			out = append(out, Conflict{Gate: DynamicResourceAllocation, Component: i.Component, Instance: i.Name,
				Text: fmt.Sprintf("does not serve %s because of --runtime-config: take the entry that turns it off away", strings.Join(off, ", "))})
		}
	}
	for name := range named {
		if groupGate(name) {
			out = append(out, groupDifferences(name, instances)...)
		} else if c := differences(name, instances); c != nil {
			out = append(out, *c)
		}
	}
	SortConflicts(out)
	return out
}

// SortConflicts puts conflicts in the order in which they are shown.
func SortConflicts(list []Conflict) {
	slices.SortFunc(list, func(a, b Conflict) int {
		return cmp.Or(cmp.Compare(a.Gate, b.Gate), cmp.Compare(a.Component, b.Component), cmp.Compare(a.Instance, b.Instance),
			cmp.Compare(a.Ahead, b.Ahead), cmp.Compare(a.Text, b.Text))
	})
}

// Lines returns conflicts as sentences, one for all instances that have the same, in the order of the first of each.
func Lines(conflicts []Conflict) []string {
	type key struct{ gate, text string }
	var order []key
	places := map[key][]string{}
	for _, c := range conflicts {
		k := key{c.Gate, c.Text}
		if _, there := places[k]; !there {
			order = append(order, k)
		}
		places[k] = append(places[k], c.Place())
	}
	var out []string
	for _, k := range order {
		line := k.gate + ": "
		if at := Few(places[k]); at != "" {
			line += at + ": "
		}
		out = append(out, line+k.text)
	}
	return out
}

func sequence(values []bool) string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return strings.Join(words, ", then ")
}

// starting reports what keeps an instance from starting, in its version and in the next.
func starting(i Instance) []Conflict {
	minor, ok := Minor(i.Version)
	if !ok {
		return nil
	}
	var out []Conflict
	add := func(gate, text string, ahead int) {
		c := Conflict{Gate: gate, Component: i.Component, Instance: i.Name, Text: text, Ahead: ahead}
		if on, set := i.Set[gate]; set {
			c.Values = []bool{on}
			if ahead != 0 {
				c.Effective = &on
			}
		}
		out = append(out, c)
	}
	for _, refuses := range []struct {
		at   func(Instance, int) map[string]string
		gate func(string) string
	}{{refusals, func(gate string) string { return gate }}, {unregistered, gateOfEntry}} {
		now := refuses.at(i, minor)
		for what, text := range now {
			add(refuses.gate(what), text+": the component does not start with these flags", 0)
		}
		for what, text := range refuses.at(i, minor+1) {
			if _, already := now[what]; !already {
				add(refuses.gate(what), fmt.Sprintf("%s: after an upgrade to 1.%d the component does not start with these flags", text, minor+1), minor+1)
			}
		}
	}
	return out
}
