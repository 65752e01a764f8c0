package featuregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Change is what a plan asks of the flags of one component.
type Change struct {
	Component string
	// Set are gates to set to true, APIs versions to switch on; both sorted. A fragment can take nothing out of flags: that a gate
	// is to go stands in the steps.
	Set, APIs []string
}

// Changes sums the steps of a plan up, one entry for each component that has to change, sorted. A component whose versions differ
// (an upgrade on its way) has the same flags everywhere, so what only one of its versions knows is left out; the steps say it.
func Changes(steps []Step) []Change {
	byComponent := map[string]*Change{}
	minors := map[string]map[int]bool{}
	for _, s := range steps {
		if minor, ok := Minor(s.Version); ok {
			if minors[s.Component] == nil {
				minors[s.Component] = map[int]bool{}
			}
			minors[s.Component][minor] = true
		}
	}
	settable := func(component, gate string) bool {
		for minor := range minors[component] {
			if s, p := lookup(gate, minor); p != present || s.locked && !s.on {
				return false
			}
		}
		return true
	}
	for _, s := range steps {
		c := byComponent[s.Component]
		if c == nil {
			c = &Change{Component: s.Component}
			byComponent[s.Component] = c
		}
		switch s.Do {
		case SetGate:
			gates := append([]string{s.Gate}, s.Also...)
			if !slices.ContainsFunc(gates, func(g string) bool { return !settable(s.Component, g) }) {
				c.Set = append(c.Set, gates...)
				c.APIs = append(c.APIs, s.APIs...)
			}
		case ServeAPI:
			c.APIs = append(c.APIs, s.APIs...)
		}
	}
	var out []Change
	for _, component := range slices.Sorted(maps.Keys(byComponent)) {
		c := byComponent[component]
		for _, list := range []*[]string{&c.Set, &c.APIs} {
			slices.Sort(*list)
			*list = slices.Compact(*list)
		}
		if len(c.Set)+len(c.APIs) > 0 {
			out = append(out, *c)
		}
	}
	return out
}

// Args are the flags that a change adds to a component's own. Components read them together with those that are there.
func (c Change) Args() []string {
	var out []string
	if len(c.Set) > 0 {
		out = append(out, "--feature-gates="+strings.Join(c.Set, "=true,")+"=true")
	}
	if len(c.APIs) > 0 {
		out = append(out, "--runtime-config="+strings.Join(c.APIs, "=true,")+"=true")
	}
	return out
}

// kubeadmFields are the components' fields of a ClusterConfiguration.
var kubeadmFields = map[string]string{APIServer: "apiServer", ControllerManager: "controllerManager", Scheduler: "scheduler"}

// Kubeadm returns the changes of the control plane as a fragment of kubeadm's ClusterConfiguration, "" without any. kubeadm hands
// repeated arguments on, and the components join them, so that what is there already may stay.
func Kubeadm(changes []Change) string {
	var out strings.Builder
	for _, c := range changes {
		field, ok := kubeadmFields[c.Component]
		if !ok || len(c.Args()) == 0 {
			continue
		}
		if out.Len() == 0 {
			out.WriteString("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n")
		}
		fmt.Fprintf(&out, "%s:\n  extraArgs:\n", field)
		for _, arg := range c.Args() {
			name, value, _ := strings.Cut(strings.TrimPrefix(arg, "--"), "=")
			fmt.Fprintf(&out, "  - name: %s\n    value: %s\n", name, value)
		}
	}
	return out.String()
}

// KubeletConfiguration returns the changes of kubelets as a drop-in of their configuration, "" without any.
func KubeletConfiguration(changes []Change) string {
	for _, c := range changes {
		if c.Component != Kubelet || len(c.Set) == 0 {
			continue
		}
		out := "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nfeatureGates:\n"
		for _, gate := range c.Set {
			out += "  " + gate + ": true\n"
		}
		return out
	}
	return ""
}
