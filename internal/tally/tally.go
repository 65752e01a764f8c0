package tally

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/claimstate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// Input is what is known of a cluster. The order of its lists means nothing.
type Input struct {
	Nodes     []v1alpha1.GPUNode
	Groups    []v1alpha1.GPUNodeGroup
	Templates []v1alpha1.GPUClaimTemplate
	// Stack is nil before there is one.
	Stack *v1alpha1.GPUStack
	// Claims, and whether they are known: while they are not, nothing is said of claims nor of who has a device.
	Claims      []*claimstate.Claim
	ClaimsKnown bool
	// Locate finds a device in the slices.
	Locate claimstate.Locate
	// DeviceClasses that exist.
	DeviceClasses []string
	Settings      *settings.Settings
	Profiles      *profile.Set
	Now           time.Time
}

// Count returns the samples, sorted by metric and labels.
func Count(in Input) []Sample {
	var out []Sample
	out = append(out, in.nodes()...)
	out = append(out, in.pools()...)
	out = append(out, in.memory()...)
	out = append(out, in.conditions()...)
	if in.ClaimsKnown {
		table := in.devices()
		out = append(out, table.samples()...)
		out = append(out, in.claims(table)...)
	}
	slices.SortFunc(out, func(a, b Sample) int {
		return cmp.Or(slices.Index(all, a.Metric)-slices.Index(all, b.Metric), slices.Compare(a.Values, b.Values))
	})
	return out
}

// groupOf a node as a label: one that is in several groups, which is a condition, is counted once, under all their names.
func groupOf(n *v1alpha1.GPUNode) string { return strings.Join(n.Status.Groups, ",") }

// listed are the names of the groups that the settings list.
func (in Input) listed() []string {
	var out []string
	if in.Settings != nil {
		for _, g := range in.Settings.NodeGroups {
			out = append(out, g.Name)
		}
	}
	return out
}

// wanted are the drivers that listed groups run, by DRA driver name: of these there is a sample even where it is zero.
func (in Input) wanted() []string {
	var out []string
	if in.Settings != nil {
		for _, g := range in.Settings.NodeGroups {
			for _, name := range g.Drivers {
				if p, ok := in.Profiles.ByName(name); ok {
					out = append(out, p.DriverName)
				}
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// accelerator says whether a driver's devices are accelerators.
func (in Input) accelerator(driver string) bool {
	p, ok := in.Profiles.ByDriver(driver)
	return ok && p.DriverName == driver
}
