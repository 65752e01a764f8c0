// Package component holds, as data, what each process of a test cluster needs: its
// arguments, its ports and how to tell that it is ready. A new kind of component is one
// more entry; a real node is more than a process, and a package of its own (realnode).
package component

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/layout"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/ports"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

// Setting is the cluster a component is started in.
type Setting struct {
	Dir     layout.Dir
	Ports   map[string]int
	Options state.Options
}

// address is the loopback address of one of the component's ports.
func (s Setting) address(component, port string) string {
	return ports.Address(s.Ports[PortName(component, port)])
}

// Kind is one sort of component.
type Kind struct {
	Name string
	// Needs are the components that must be ready before this one starts.
	Needs []string
	// Ports are the names of the ports it listens on.
	Ports []string
	// Args are the process's arguments without the program's name.
	Args func(Setting) []string
	// Ready is how readiness is asked for.
	Ready func(Setting) Probe
	// Endpoint is shown by `cluster status`.
	Endpoint func(Setting) string
	// ControlPlane marks what a kubeadm-like cluster runs as a static Pod that others read.
	ControlPlane bool
}

// Probe is an HTTP request that answers 200 when the component is ready.
type Probe struct {
	URL string
	// Authority is the file with the server's authority; empty for plain HTTP.
	Authority string
}

// Kinds are all components in the order in which they start.
var Kinds = []Kind{etcd, apiServer, controllerManager, scheduler, kwok}

// Find returns a kind by name.
func Find(name string) (Kind, error) {
	for _, kind := range Kinds {
		if kind.Name == name {
			return kind, nil
		}
	}
	return Kind{}, fmt.Errorf("component %q is not one of %s", name, strings.Join(Names(), ", "))
}

// Names lists all components.
func Names() []string {
	var names []string
	for _, kind := range Kinds {
		names = append(names, kind.Name)
	}
	return names
}

// Select returns the kinds of the given names in the order in which they start, and says
// what else they need.
func Select(names []string) ([]Kind, error) {
	for _, name := range names {
		if _, err := Find(name); err != nil {
			return nil, err
		}
	}
	var selected []Kind
	for _, kind := range Kinds {
		if !slices.Contains(names, kind.Name) {
			continue
		}
		for _, need := range kind.Needs {
			if !slices.Contains(names, need) {
				return nil, fmt.Errorf("component %s needs %s: add it", kind.Name, need)
			}
		}
		selected = append(selected, kind)
	}
	if len(selected) == 0 {
		return nil, fmt.Errorf("no component is named: take some of %s", strings.Join(Names(), ", "))
	}
	return selected, nil
}

// PortName is the name under which a component's port is recorded.
func PortName(component, port string) string { return component + "/" + port }

// PortNames are the names of all ports of the kinds.
func PortNames(kinds []Kind) []string {
	var names []string
	for _, kind := range kinds {
		for _, port := range kind.Ports {
			names = append(names, PortName(kind.Name, port))
		}
	}
	return names
}
