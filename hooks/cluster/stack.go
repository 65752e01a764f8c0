package cluster

import (
	"fmt"
	"slices"

	"github.com/deckhouse/module-sdk/pkg"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// stackFact is what stackFilter leaves of the GPUStack.
type stackFact struct {
	Synced            bool       `json:"synced"`
	KubernetesVersion string     `json:"kubernetesVersion"`
	Needed            []gateFact `json:"needed"`
}

type gateFact struct {
	Name  string                 `json:"name"`
	State metav1.ConditionStatus `json:"state"`
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
	return values.Cluster{Observed: known.Observed, KubernetesVersion: known.KubernetesVersion, FeatureGates: known.FeatureGates}
}

func (f stackFact) block() values.Cluster {
	out := values.Cluster{Observed: true, KubernetesVersion: f.KubernetesVersion}
	gates := &out.FeatureGates
	for _, g := range f.Needed {
		if g.Name == "" {
			continue
		}
		gates.Needed = append(gates.Needed, g.Name)
		switch g.State {
		case metav1.ConditionTrue:
			gates.On = append(gates.On, g.Name)
		case metav1.ConditionFalse:
			gates.Off = append(gates.Off, g.Name)
		default:
			gates.Unknown = append(gates.Unknown, g.Name)
		}
	}
	for _, list := range []*[]string{&gates.Needed, &gates.On, &gates.Off, &gates.Unknown} {
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

func sorted(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}
