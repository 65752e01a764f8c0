package featuregate

import (
	"fmt"
	"strings"
)

// dependenciesSince is the minor from which components refuse a gate whose dependency is off
// (k8s.io/component-base featuregate, AddDependencies).
const dependenciesSince = 35

// refusals returns, by gate, why a component of a minor version refuses to start with the flags of an instance. Versions
// that the table does not reach refuse nothing.
func refusals(i Instance, minor int) map[string]string {
	out := map[string]string{}
	if minor > newest {
		return out
	}
	for name, on := range i.Set {
		if text := refusal(name, on, minor, i.effective(minor)); text != "" {
			out[name] = text
		}
	}
	if minor < dependenciesSince {
		return out
	}
	for name := range table {
		if val := i.valueAt(name, minor); !val.on || out[name] != "" || removedAt(name, minor) {
			continue
		}
		for _, dependency := range needsOf(name, minor) {
			if dep := i.valueAt(dependency, minor); dep.known && !dep.on {
				out[name] = fmt.Sprintf("it is on and depends on %s, which is off (%s)", dependency, dep.why)
				break
			}
		}
	}
	return out
}

func removedAt(name string, minor int) bool {
	_, p := lookup(name, minor)
	return p == gone
}

// refusal of one gate set to a value. The binary's own minor decides whether it knows the gate at all, the emulated one
// decides about its stage.
func refusal(name string, on bool, minor, emulated int) string {
	if _, p := lookup(name, minor); p == gone {
		s, _ := lookup(name, minor)
		return fmt.Sprintf("1.%d does not have this gate any more (removed in 1.%d), take it away", minor, s.from)
	} else if p == notYet {
		return fmt.Sprintf("1.%d does not have this gate yet", minor)
	} else if p == notInTable {
		return misnamed(name, minor)
	}
	switch s, p := lookup(name, emulated); {
	// A gate that is deprecated from its first minor on stands for what was always so: the sources give it a stage in 1.0.
	case p == notYet && table[name].specs[0].stage != stageDeprecated:
		return fmt.Sprintf("1.%d, which is emulated, does not have this gate yet", emulated)
	case p == present && s.locked && s.on != on:
		return fmt.Sprintf("it is set to %t, but locked to %t since 1.%d, take it away", on, s.on, s.from)
	}
	return ""
}

// misnamed judges a name that the table does not have. Kubernetes and those who build their own have hundreds of other
// gates, so only a name that claims to be a DRA gate is held against the table.
func misnamed(name string, minor int) string {
	if !strings.HasPrefix(strings.ToUpper(name), "DRA") && !strings.HasPrefix(name, "DynamicResource") {
		return ""
	}
	text := fmt.Sprintf("1.%d has no gate of this name", minor)
	if n := nearest(name); n != "" {
		text += ", perhaps " + n + " is meant"
	}
	return text
}
