package profile

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// gateName is what stands in a list such as `A=true,B=false` without being taken for something else.
var gateName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,62}$`)

// driverVersion is a version of a driver as `since` says it.
var driverVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+(\.[0-9]+)?$`)

// partitionings of a node group that can switch a gate on.
var partitionings = []string{"Static", "Dynamic"}

func (c *checker) gates(gates []Gate) {
	g := newGateGraph(gates)
	seen, said := map[string]bool{}, map[string]bool{}
	for i, gate := range gates {
		field := fmt.Sprintf("gates[%d].", i)
		if !gateName.MatchString(gate.Name) {
			c.wrong(field+"name", gate.Name, "the name of a gate: at most 63 letters, digits, dots, dashes and underscores, a letter first")
		}
		if seen[gate.Name] {
			c.wrong(field+"name", gate.Name, "a gate that the profile does not already have")
		}
		seen[gate.Name] = true
		c.since(field+"since", gate.Since)
		oneOf(c, field+"partitioning", gate.Partitioning, append([]string{""}, partitionings...)...)
		for j, other := range gate.Excludes {
			at := fmt.Sprintf("%sexcludes[%d]", field, j)
			c.otherGate(at, gate.Name, other, g)
			if said[pair(gate.Name, other)] {
				c.wrong(at, other, "an exclusion that is said once, by either of the two gates")
			}
			said[pair(gate.Name, other)] = true
		}
		for j, other := range gate.Requires {
			c.otherGate(fmt.Sprintf("%srequires[%d]", field, j), gate.Name, other, g)
		}
		if a, b, clash := g.clash(g.closure(gate.Name)); clash {
			c.wrong(field+"requires", gate.Requires, fmt.Sprintf("gates that can be on together: %s and %s exclude each other", a, b))
		}
	}
	// Nobody could switch such a set off: it comes without a word in the settings.
	c.together("gates: on by default", g, g.switchedOn("", false))
	for _, p := range partitionings {
		c.together("gates: on with partitioning "+p, g, g.switchedOn(p, false))
	}
	c.together("gates: on with passthrough", g, g.switchedOn("", true))
}

func (c *checker) otherGate(field, gate, other string, g gateGraph) {
	if _, known := g.byName[other]; !known || other == gate {
		c.wrong(field, other, "another gate that the profile lists in gates")
	}
}

// together checks gates that are on at the same time without the user naming one.
func (c *checker) together(field string, g gateGraph, on []string) {
	if a, b, clash := g.clash(on); clash {
		c.wrong(field, phrase(a+" and "+b), "gates that do not exclude each other")
	}
	for _, name := range on {
		for _, need := range g.byName[name].Requires {
			if _, known := g.byName[need]; known && !slices.Contains(on, need) {
				c.wrong(field, phrase(name+" without "+need), "every gate together with those that it requires")
			}
		}
	}
}

func (c *checker) since(field, version string) {
	if version != "" && !driverVersion.MatchString(version) {
		c.wrong(field, version, "a version of the driver such as 0.5.0")
	}
}

// gateNeeds checks what names gates of the driver from elsewhere. Where a profile lists none, any name is passed on.
func (c *checker) gateNeeds(d *Driver) {
	known := newGateGraph(d.Gates).byName
	unlisted := func(name string) bool { _, ok := known[name]; return len(known) > 0 && !ok }
	for i, n := range d.KubernetesGates {
		field := fmt.Sprintf("kubernetesGates[%d].", i)
		if n.Gate == "" {
			c.wrong(field+"gate", "", "the name of a Kubernetes feature gate")
		}
		oneOf(c, field+"partitioning", n.Partitioning, "", "None", "Static", "Dynamic")
		if n.DriverGate != "" && unlisted(n.DriverGate) {
			c.wrong(field+"driverGate", n.DriverGate, "a gate that the profile lists in gates")
		}
	}
	if d.Sharing == nil {
		return
	}
	for _, name := range sortedKeys(d.Sharing.Strategies) {
		for i, gate := range d.Sharing.Strategies[name].Gates {
			if unlisted(gate) {
				c.wrong(fmt.Sprintf("sharing.strategies[%s].gates[%d]", name, i), gate, "a gate that the profile lists in gates")
			}
		}
	}
}

// gateGraph is what gates say of each other.
type gateGraph struct {
	byName   map[string]Gate
	excludes map[string]bool
}

func newGateGraph(gates []Gate) gateGraph {
	g := gateGraph{byName: map[string]Gate{}, excludes: map[string]bool{}}
	for _, gate := range gates {
		g.byName[gate.Name] = gate
		for _, other := range gate.Excludes {
			g.excludes[pair(gate.Name, other)] = true
		}
	}
	return g
}

func pair(a, b string) string {
	both := []string{a, b}
	slices.Sort(both)
	return strings.Join(both, " ")
}

// closure is a gate and all that has to be on with it, sorted.
func (g gateGraph) closure(name string) []string {
	on := map[string]bool{name: true}
	for todo := []string{name}; len(todo) > 0; todo = todo[1:] {
		for _, need := range g.byName[todo[0]].Requires {
			if !on[need] {
				on[need] = true
				todo = append(todo, need)
			}
		}
	}
	return slices.Sorted(maps.Keys(on))
}

// switchedOn are the gates that are on before the settings name one, sorted.
func (g gateGraph) switchedOn(partitioning string, passthrough bool) []string {
	var on []string
	for _, name := range sortedKeys(g.byName) {
		gate := g.byName[name]
		if gate.Default || partitioning != "" && gate.Partitioning == partitioning || passthrough && gate.Passthrough {
			on = append(on, name)
		}
	}
	return on
}

// clash finds two gates of a sorted list that exclude each other.
func (g gateGraph) clash(on []string) (a, b string, found bool) {
	for i, a := range on {
		for _, b := range on[i+1:] {
			if g.excludes[pair(a, b)] {
				return a, b, true
			}
		}
	}
	return "", "", false
}
