package featuregate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Advice says how one step of the plan is done on a platform that writes the flags of its components itself.
type Advice struct {
	Step
	// Fixed: the platform sets the gate there by itself in this version.
	Fixed bool
	// Settable: the platform's setting takes the gate.
	Settable bool
	// Text says what is to be done.
	Text string
}

// Advise returns what the steps that set a gate or switch an API on mean where a platform writes the flags; nil where it does not.
func Advise(steps []Step, rules profile.GateRules) []Advice {
	if rules.Setting == "" {
		return nil
	}
	var out []Advice
	for _, s := range steps {
		if s.Do != SetGate && s.Do != ServeAPI && s.Do != RemoveGate {
			continue
		}
		minor, ok := Minor(s.Version)
		if !ok {
			continue
		}
		a := Advice{Step: s}
		a.Fixed = fixed(rules, s.Gate, s.Component, minor)
		a.Settable = slices.ContainsFunc(rules.Settable, func(g profile.SettableGate) bool { return g.Gate == s.Gate && g.Holds(minor) })
		a.Text = a.text(rules, minor)
		out = append(out, a)
	}
	return out
}

// fixed says whether the platform switches a gate on by itself in every instance of a component of a minor.
func fixed(rules profile.GateRules, gate, component string, minor int) bool {
	return slices.ContainsFunc(rules.Fixed, func(f profile.FixedGate) bool {
		return f.Gate == gate && f.When == "" && f.Holds(minor) && slices.Contains(f.Components, component)
	})
}

func (a Advice) text(rules profile.GateRules, minor int) string {
	switch {
	case a.Do == RemoveGate:
		return fmt.Sprintf("take %s out of what sets it; %s sets no gate to false", a.Gate, rules.Setting)
	case a.Do == ServeAPI:
		return "the platform has no setting for --runtime-config: " + strings.Join(a.APIs, ", ") + " cannot be switched on"
	case a.Fixed:
		return fmt.Sprintf("the platform sets it by itself in 1.%d, but it is not seen: look at the flags of the running component", minor)
	case a.Settable:
		return fmt.Sprintf("add %s to %s", a.Gate, rules.Setting)
	}
	text := fmt.Sprintf("%s does not know it for 1.%d and ignores it without an error", rules.Setting, minor)
	if on := firstOn(a.Gate, minor); on != 0 {
		text += fmt.Sprintf("; from 1.%d on it is on by default: upgrade Kubernetes", on)
	}
	if a.Component == Kubelet && rules.KubeletHint != "" {
		text += "; " + rules.KubeletHint
	}
	return text
}

// firstOn is the first later minor in which a gate is on by default, 0 where the table has none.
func firstOn(gate string, after int) int {
	for minor := after + 1; minor <= newest; minor++ {
		if on, known := Default(gate, minor); on && known {
			return minor
		}
	}
	return 0
}
