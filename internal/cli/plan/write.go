package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// page collects lines; what is written to it cannot fail before it is printed.
type page struct{ strings.Builder }

func (p *page) line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

func (p *page) heading(text string) {
	if p.Len() > 0 {
		p.line("")
	}
	p.line("%s", text)
}

func kubelets(s v1alpha1.GPUStackStatus) string {
	var list []string
	for _, k := range s.KubeletVersions {
		list = append(list, fmt.Sprintf("%s on %d node(s)", k.Version, k.Count))
	}
	if len(list) == 0 {
		return ", no kubelet of a listed node group seen"
	}
	return ", kubelets " + strings.Join(list, ", ")
}

func distribution(gates v1alpha1.FeatureGates, d profile.Distribution) string {
	if name := cmp.Or(d.Name, gates.Distribution); name != "" {
		return ", distribution " + name
	}
	return ""
}

func (p *page) needed(gates v1alpha1.FeatureGates) {
	p.heading("Feature gates that the settings need:")
	any := false
	for _, g := range gates.Needed {
		if len(g.NeededBy) == 0 {
			continue
		}
		any = true
		p.line("  %s: %s, needed by %s", g.Name, state(g), strings.Join(g.NeededBy, ", "))
		if len(g.Actions) == 0 && g.State != metav1.ConditionTrue {
			p.line("    %s", g.Message)
		}
		for _, a := range g.Actions {
			p.line("    %s: %s (%s)", place(a.Component, a.Version, a.Instances, a.Nodes), todo(g.Name, a), a.Message)
		}
	}
	if !any {
		p.line("  none")
	}
}

func state(g v1alpha1.NeededGate) string {
	waits := slices.ContainsFunc(g.Actions, func(a v1alpha1.GateAction) bool { return featuregate.Todo(a.Action) == featuregate.ServeAPI })
	switch g.State {
	case metav1.ConditionTrue:
		if waits {
			return "on, but its API is not served"
		}
		return "on everywhere"
	case metav1.ConditionFalse:
		return "off"
	}
	return "not known"
}

func place(component, version string, instances []string, nodes int32) string {
	out := component
	if version != "" {
		out += " " + version
	}
	if nodes > 0 {
		out += fmt.Sprintf(" on %d node(s)", nodes)
	}
	if len(instances) > 0 {
		out += " (" + featuregate.Few(instances) + ")"
	}
	return out
}

func todo(gate string, a v1alpha1.GateAction) string {
	out := ""
	switch featuregate.Todo(a.Action) {
	case featuregate.SetGate:
		out = "set " + strings.Join(append([]string{gate}, a.Also...), "=true, ") + "=true"
	case featuregate.ServeAPI:
	case featuregate.RemoveGate:
		return "take " + gate + " out of the flags"
	case featuregate.UpgradeKubernetes:
		return "upgrade Kubernetes"
	case featuregate.Look:
		return "look at its flags yourself"
	default:
		return "no flag helps"
	}
	if len(a.RuntimeConfig) > 0 {
		if out != "" {
			out += ", "
		}
		out += "add --runtime-config=" + strings.Join(a.RuntimeConfig, "=true,") + "=true"
	}
	return out
}

func (p *page) conflicts(gates v1alpha1.FeatureGates) {
	p.heading("Conflicts:")
	for _, line := range stack.ConflictLines(gates) {
		p.line("  %s", line)
	}
	if len(gates.Conflicts) == 0 {
		p.line("  none")
	}
	if c := gates.CrossCheck; c != nil && c.Message != "" {
		p.line("  The flags are not checked against /metrics of the API server: %s", c.Message)
	}
}

func (p *page) upgrade(gates v1alpha1.FeatureGates) {
	p.heading("Before an upgrade of Kubernetes:")
	for _, f := range gates.Upgrade {
		mark := "note "
		if f.Stops {
			mark = "STOPS"
		}
		about := strings.TrimSpace(strings.Join([]string{f.Gate, place(f.Component, "", f.Instances, 0)}, " "))
		if about != "" {
			about += ": "
		}
		p.line("  %s %s %s%s", f.To, mark, about, f.Message)
	}
	if len(gates.Upgrade) == 0 {
		p.line("  nothing is known to get in the way")
	}
}

// platform says what a distribution that writes the flags does by itself, and what its setting takes.
func (p *page) platform(minor int, d profile.Distribution) {
	rules := d.FeatureGates
	if rules.Setting == "" || minor == 0 {
		return
	}
	p.heading(fmt.Sprintf("What %s sets by itself in 1.%d, as far as is known of it:", d.Name, minor))
	for _, f := range rules.Fixed {
		if f.Holds(minor) {
			line := fmt.Sprintf("  %s: %s", f.Gate, strings.Join(f.Components, ", "))
			if f.When != "" {
				line += ", where " + f.When
			}
			p.line("%s", line)
		}
	}
	var settable []string
	for _, g := range rules.Settable {
		if g.Holds(minor) {
			settable = append(settable, g.Gate)
		}
	}
	p.line("  %s takes of the gates that matter here: %s; it ignores others without an error", rules.Setting, cmp.Or(strings.Join(settable, ", "), "none"))
}

func (p *page) fragments(gates v1alpha1.FeatureGates) {
	for _, f := range []struct{ heading, text string }{
		{"To add to kubeadm's ClusterConfiguration:", gates.Fragments.Kubeadm},
		{"To add to the kubelets' configuration, as a drop-in:", gates.Fragments.KubeletConfiguration},
	} {
		if f.text == "" {
			continue
		}
		p.heading(f.heading)
		for line := range strings.Lines(f.text) {
			p.line("  %s", strings.TrimSuffix(line, "\n"))
		}
	}
}
