package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/deckhouse/module-sdk/pkg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// stackFact is what stackFilter leaves of the GPUStack.
type stackFact struct {
	Synced            bool           `json:"synced"`
	KubernetesVersion string         `json:"kubernetesVersion"`
	ResourceAPIs      []string       `json:"resourceAPIs"`
	SettingsHash      string         `json:"settingsHash"`
	Needed            []gateFact     `json:"needed"`
	Instances         []instanceFact `json:"instances"`
}

type gateFact struct {
	Name  string                 `json:"name"`
	State metav1.ConditionStatus `json:"state"`
}

type instanceFact struct {
	Component  string          `json:"component"`
	Name       string          `json:"name"`
	Version    string          `json:"version"`
	Unreadable string          `json:"unreadable"`
	Set        map[string]bool `json:"set"`
}

// observed returns the block with the facts of the GPUStack, or with those known before while it has none to give.
func observed(known values.Cluster, snapshots []pkg.Snapshot, logger pkg.Logger) values.Cluster {
	for _, s := range snapshots {
		var f stackFact
		if err := s.UnmarshalTo(&f); err != nil {
			logger.Warn(fmt.Sprintf("the GPUStack cannot be read, its last known facts stay: %s", err))
			continue
		}
		// A controller that has not synced may have read a part of the control plane only. Its words are better than none:
		// they are what an earlier one left.
		if f.Synced || (!known.Observed && f.KubernetesVersion != "") {
			return f.block()
		}
	}
	return values.Cluster{
		Observed:          known.Observed,
		KubernetesVersion: known.KubernetesVersion,
		ResourceAPIs:      known.ResourceAPIs,
		FeatureGates:      known.FeatureGates,
		Gates:             known.Gates,
		SettingsHash:      known.SettingsHash,
	}
}

func (f stackFact) block() values.Cluster {
	out := values.Cluster{
		Observed:          true,
		KubernetesVersion: f.KubernetesVersion,
		ResourceAPIs:      sorted(f.ResourceAPIs),
		FeatureGates:      instances(f.Instances),
		SettingsHash:      f.SettingsHash,
	}
	for _, g := range f.Needed {
		if g.Name == "" {
			continue
		}
		out.Gates.Needed = append(out.Gates.Needed, g.Name)
		switch g.State {
		case metav1.ConditionTrue:
			out.Gates.On = append(out.Gates.On, g.Name)
		case metav1.ConditionFalse:
			out.Gates.Off = append(out.Gates.Off, g.Name)
		default:
			out.Gates.Unknown = append(out.Gates.Unknown, g.Name)
		}
	}
	for _, list := range []*[]string{&out.Gates.Needed, &out.Gates.On, &out.Gates.Off, &out.Gates.Unknown} {
		*list = sorted(*list)
	}
	return out
}

// extendedResources says of each driver that the settings name whether classes of it may carry an extended resource name. The
// GPUStack knows of the gate over the kubelets of all listed groups: one without it keeps the names off everywhere, since a pod
// there would run without its device. No entry where it is not known.
func extendedResources(gates values.Gates, s *settings.Settings) map[string]bool {
	on := slices.Contains(gates.On, featuregate.ExtendedResource)
	if !on && !slices.Contains(gates.Off, featuregate.ExtendedResource) {
		return nil
	}
	out := map[string]bool{}
	for _, driver := range settings.WantedDrivers(s) {
		out[driver] = on
	}
	for _, class := range s.DeviceClasses.Extra {
		if class.Driver != "" {
			out[class.Driver] = on
		}
	}
	return out
}

// instances keeps each control-plane instance, and one kubelet of each version: the values must not grow with the nodes. A gate
// that two kubelets of a version set differently is off there, since it is on only where it is on everywhere.
func instances(list []instanceFact) []values.Instance {
	byKey := map[string]*values.Instance{}
	for _, i := range list {
		if !slices.Contains(components, i.Component) {
			continue
		}
		name := i.Name
		if i.Component == featuregate.Kubelet {
			name = cmp.Or(i.Version, i.Name)
		}
		key := i.Component + "/" + name
		have := byKey[key]
		if have == nil {
			byKey[key] = &values.Instance{Component: i.Component, Instance: name, Version: i.Version, Unreadable: i.Unreadable, Set: maps.Clone(i.Set)}
			continue
		}
		have.Unreadable = min(have.Unreadable, i.Unreadable)
		for gate, on := range i.Set {
			if before, there := have.Set[gate]; there {
				on = on && before
			}
			if have.Set == nil {
				have.Set = map[string]bool{}
			}
			have.Set[gate] = on
		}
	}
	var out []values.Instance
	for _, key := range slices.Sorted(maps.Keys(byKey)) {
		out = append(out, *byKey[key])
	}
	return out
}

// components that the values' schema knows; one that it does not know would be refused with all the rest.
var components = []string{featuregate.APIServer, featuregate.ControllerManager, featuregate.Scheduler, featuregate.Kubelet}

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
