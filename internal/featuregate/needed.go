package featuregate

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// Need is a gate that the settings make use of.
type Need struct {
	Gate string
	// By lists the settings that need it, as paths, sorted. Empty: nothing breaks without it, but something is switched by
	// whether it is on, so its state is to be observed.
	By []string
}

// needs collects gates and who needs them.
type needs map[string]map[string]bool

func (n needs) observe(gate string) {
	if n[gate] == nil {
		n[gate] = map[string]bool{}
	}
}

func (n needs) need(gate, by string) {
	n.observe(gate)
	n[gate][by] = true
}

// Needed returns the Kubernetes gates that the settings need or whose state decides something, sorted by gate. Passive
// groups need nothing: no driver of ours runs there. A driver's own gates count as set in the settings; what a driver has
// on by default without that is not known here.
func Needed(s *settings.Settings, profiles *profile.Set) []Need {
	n := needs{}
	if s == nil {
		return nil
	}
	for _, g := range s.NodeGroups {
		if g.Passive {
			continue
		}
		n.need(DynamicResourceAllocation, "nodeGroups")
		for _, name := range g.Drivers {
			if d, ok := profiles.ByName(name); ok {
				n.driver(s, g, d)
				n.exporter(s, g, d)
			}
		}
	}
	for _, c := range s.DeviceClasses.Extra {
		n.class(s.DeviceClasses, c.Name, c.ExtendedResourceName)
	}
	n.claimTemplates(s.ClaimTemplates)
	for _, gate := range s.KubernetesFeatureGates.ExtraRequired {
		n.need(gate, "kubernetesFeatureGates.extraRequired")
	}
	return n.sorted()
}

func (n needs) driver(s *settings.Settings, g settings.NodeGroup, d *profile.Driver) {
	for _, need := range d.KubernetesGates {
		by := fmt.Sprintf("nodeGroups[name=%s].drivers[%s]", g.Name, d.Name)
		if need.Partitioning != "" {
			if need.Partitioning != g.Partitioning {
				continue
			}
			by = fmt.Sprintf("nodeGroups[name=%s].partitioning", g.Name)
		}
		if need.DriverGate != "" {
			gate := settings.DriverGates(s, g, d)[need.DriverGate]
			if !gate.On {
				continue
			}
			by = gate.By
		}
		n.need(need.Gate, by)
	}
	for _, c := range d.Classes {
		n.class(s.DeviceClasses, c.Name, c.ExtendedResourceName)
	}
}

// exporter of a driver, where one runs (templates/exporter/_runs.tpl). Whether it claims with admin access under Auto depends on
// who installs the chart, so the gate is watched then. A claim tolerates taints of devices where there are any.
func (n needs) exporter(s *settings.Settings, g settings.NodeGroup, d *profile.Driver) {
	if s.Exporter.Mode != "DaemonSet" || g.Passthrough || d.Exporter == nil {
		return
	}
	if slices.ContainsFunc(d.Exporter.Mounts, socketFolder) {
		// Without it the kubelet does not tell the exporter whose the devices are.
		n.need("KubeletPodResourcesDynamicResources", "exporter.mode")
	}
	if d.Exporter.AdminClaim == nil {
		return
	}
	switch s.Exporter.AdminAccess {
	case "Always":
		n.need(AdminAccess, "exporter.adminAccess")
	case "Never":
		return
	default:
		n.observe(AdminAccess)
	}
	n.observe(DeviceTaints)
}

// socketFolder says whether a mount is the folder of the kubelet's socket that tells pods by their devices.
func socketFolder(m profile.Mount) bool { return path.Base(m.HostPath) == "pod-resources" }

// class of the settings: one that serves an extended resource name does so only where the gate is on everywhere. Auto watches
// the gate, Always relies on it.
func (n needs) class(d settings.DeviceClasses, name, extendedResource string) {
	own := d.Classes[name]
	if extendedResource == "" || cmp.Or(own.Create, d.Create) == "Never" {
		return
	}
	switch cmp.Or(own.ExtendedResources, d.ExtendedResources) {
	case "Always":
		path := "deviceClasses.extendedResources"
		if own.ExtendedResources != "" {
			path = fmt.Sprintf("deviceClasses.classes.%s.extendedResources", name)
		}
		n.need(ExtendedResource, path)
	case "Never":
	default:
		n.observe(ExtendedResource)
	}
}

func (n needs) claimTemplates(templates []settings.ClaimTemplate) {
	for _, t := range templates {
		n.need(DynamicResourceAllocation, "claimTemplates")
		if t.Fit == v1alpha1.FitSmallest || t.Fit == "" && t.MinMemory != nil {
			n.need(PrioritizedList, fmt.Sprintf("claimTemplates[name=%s].fit", t.Name))
		}
	}
}

func (n needs) sorted() []Need {
	var out []Need
	for _, gate := range slices.Sorted(maps.Keys(n)) {
		out = append(out, Need{Gate: gate, By: slices.Sorted(maps.Keys(n[gate]))})
	}
	return out
}
