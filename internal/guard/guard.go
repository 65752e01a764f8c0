// Package guard decides whether a driver may start on its node: not while somebody else hands out the accelerators there, so
// that no card is given out twice, and not before what it needs on the host is there. In doubt it may not.
package guard

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/manager"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Rules name who must not be on the node.
type Rules struct {
	// PluginResources are extended resources of device plugins, as in profile.Driver.
	PluginResources []string
	// Labels are the traces of other managers; those that are no label of a Node are not looked for.
	Labels []profile.ManagerTrace
}

// Missing is what the driver needs on the host and what is not there.
type Missing struct {
	// What it is, in a few words.
	What string
	// LookedFor are the paths of which one was to exist, each with the error where that is another than its absence.
	LookedFor []string
}

// Input is what is known of the node.
type Input struct {
	// Name of the Node.
	Name string
	// Node as it was read; nil: it could not be read, and Err says why.
	Node *corev1.Node
	Err  error
	// Rules that hold for the driver.
	Rules Rules
	// Missing on the host.
	Missing []Missing
}

// Reasons says why the driver must not start, what gives a card out twice before what is only missing; none: it may start.
// Each reason is a sentence with what was found, then the next step, then what may be long: where it is shown it may be cut.
func Reasons(in Input) []string {
	var out []string
	if in.Node == nil {
		out = append(out, unreadable(in.Name, in.Err))
	} else {
		out = append(out, others(in)...)
	}
	for _, m := range in.Missing {
		out = append(out, fmt.Sprintf("node %s lacks %s: install or start it there; if it is there, check the setting driverRoot of the driver; looked for %s",
			in.Name, m.What, strings.Join(m.LookedFor, ", ")))
	}
	return out
}

// others are the reasons that the Node itself shows.
func others(in Input) []string {
	const leave = "or set the node label " + v1alpha1.LabelPassive + "=true"
	var out []string
	var plugins, labels []string
	for _, p := range manager.PluginResources(in.Node, in.Rules.PluginResources) {
		plugins = append(plugins, fmt.Sprintf("%s: %d", p.Name, p.Allocatable))
	}
	if len(plugins) > 0 {
		out = append(out, fmt.Sprintf("node %s still advertises %s (allocatable): take the device plugin off this node, %s", in.Name, few(plugins), leave))
	}
	for _, t := range in.Rules.Labels {
		if label, ok := manager.Label(in.Node, t); ok {
			labels = append(labels, label)
		}
	}
	if len(labels) > 0 {
		out = append(out, fmt.Sprintf("node %s carries %s of another manager of its accelerators: take that manager off this node, %s", in.Name, few(labels), leave))
	}
	return out
}

// few joins the first items. A card may be cut into a dozen kinds of parts, each a resource, and the next step stands after.
func few(items []string) string {
	const most = 3
	if len(items) <= most {
		return strings.Join(items, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(items[:most], ", "), len(items)-most)
}

func unreadable(name string, err error) string {
	switch {
	case apierrors.IsForbidden(err):
		return fmt.Sprintf("node %s cannot be read: give the ServiceAccount of this pod the right to get nodes, by a ClusterRole (%v)", name, err)
	case apierrors.IsNotFound(err):
		return fmt.Sprintf("there is no node %s: --node must be the name of the node that this pod runs on, as in its spec.nodeName (%v)", name, err)
	}
	return fmt.Sprintf("whether another manager is on node %s is unknown: see whether this node reaches the API server (%v)", name, err)
}

// Hopeless says of an error at reading the Node that waiting does not mend it.
func Hopeless(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsNotFound(err)
}
