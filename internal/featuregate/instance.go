package featuregate

import (
	"fmt"
	"strconv"
)

// Instance is one running component.
type Instance struct {
	// Component: APIServer, ControllerManager, Scheduler or Kubelet.
	Component string
	// Name of the pod, of a kubelet the node.
	Name string
	// Version (`v1.34.4`), empty when it could not be read: then defaults are not known.
	Version string
	// Flags of the component; meaningless when Unreadable is set.
	Flags
	// Unreadable says why the flags could not be read, empty when they were.
	Unreadable string
}

// NewInstance reads one component's arguments; those that can't be read become Unreadable.
func NewInstance(component, name, version string, argv []string) Instance {
	flags, err := ParseArgs(component, argv)
	i := Instance{Component: component, Name: name, Version: version, Flags: flags}
	if err != nil {
		i.Unreadable = err.Error()
	}
	return i
}

func (i Instance) String() string { return i.Component + " " + i.Name }

// value is whether a gate is on in one place, and why it is.
type value struct {
	on, known bool
	why       string
}

func unknown(format string, args ...any) value { return value{why: fmt.Sprintf(format, args...)} }

func (i Instance) setBy() string {
	if i.Component == Kubelet {
		return "set by its configuration"
	}
	return "set by its flags"
}

// value of a gate in this instance as it runs.
func (i Instance) value(name string) value {
	if i.Unreadable != "" {
		return unknown("its flags could not be read: %s", i.Unreadable)
	}
	minor, ok := Minor(i.Version)
	if on, set := i.Set[name]; set {
		return value{on: on, known: true, why: i.setBy()}
	}
	if !ok {
		return unknown("not set by its flags, and the default depends on its version, which could not be read")
	}
	return i.valueAt(name, minor)
}

// valueAt is the value of a gate if this instance, with its flags, were of a minor version.
func (i Instance) valueAt(name string, minor int) value {
	if on, set := i.Set[name]; set {
		return value{on: on, known: true, why: i.setBy()}
	}
	at := i.effective(minor)
	s, p := lookup(name, at)
	switch p {
	case notInTable:
		return unknown("gpu-dra does not know this gate")
	case beyond:
		return unknown("gpu-dra does not know the defaults of 1.%d yet", at)
	case notYet:
		return value{known: true, why: "1." + strconv.Itoa(at) + " does not have it yet"}
	case gone:
		return value{on: s.on, known: true, why: fmt.Sprintf("removed in 1.%d", s.from)}
	}
	if !s.locked && i.File != "" {
		return unknown("not set by its flags, but perhaps in %s", i.File)
	}
	if on, set := i.Set[groupOf(s.stage)]; set {
		return value{on: on, known: true, why: "set by " + groupOf(s.stage)}
	}
	if s.on {
		return value{on: true, known: true, why: "on by default in 1." + strconv.Itoa(at)}
	}
	return value{known: true, why: "off by default in 1." + strconv.Itoa(at)}
}

// effective is the minor whose defaults hold: --emulated-version before the component's own.
func (i Instance) effective(minor int) int {
	if i.Emulated != 0 {
		return i.Emulated
	}
	return minor
}

// groupOf is the gate that sets all gates of a stage, or "".
func groupOf(s stage) string {
	switch s {
	case stageAlpha:
		return AllAlpha
	case stageBeta:
		return AllBeta
	}
	return ""
}
