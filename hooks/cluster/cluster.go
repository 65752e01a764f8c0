// Package cluster is the hook that gives the templates what is known of the cluster: the facts of the GPUStack, the
// DeviceClasses that somebody else owns, and the monitoring APIs. It runs before Helm (before `nodegroups`) and when one of
// the two kinds changes in what the templates see.
//
// Until a GPUStack was written the block says observed: false, and its facts of versions and gates are empty. What the hook
// sees by itself (foreign DeviceClasses, what of the settings is refused, monitoring APIs) is there from the first run, since
// the first release must not take somebody's DeviceClass, nor stop at a broken one. When the GPUStack goes away, or its
// controller starts over, the last known facts stay; after a restart of addon-operator they come back from the GPUStack's
// status.
package cluster

import (
	"context"
	"fmt"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/pkg/registry"
	"k8s.io/client-go/discovery"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
	"github.com/gpu-dra/gpu-dra/hooks/internal/kube"
	"github.com/gpu-dra/gpu-dra/internal/deviceclass"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// Names of the snapshots.
const (
	snapshotStack   = "stack"
	snapshotClasses = "classes"
)

var config = &pkg.HookConfig{
	// A queue of its own: addon-operator joins waiting runs of one hook only where no other hook's run stands between them.
	Queue:        "/modules/gpu-dra/cluster",
	OnBeforeHelm: &pkg.OrderedConfig{Order: 10},
	Kubernetes: []pkg.KubernetesConfig{
		{
			Name:         snapshotStack,
			APIVersion:   v1alpha1.GroupVersion.String(),
			Kind:         "GPUStack",
			NameSelector: &pkg.NameSelector{MatchNames: []string{v1alpha1.StackName}},
			JqFilter:     stackFilter,
		},
		{
			Name:       snapshotClasses,
			APIVersion: "resource.k8s.io/v1",
			Kind:       "DeviceClass",
			JqFilter:   classFilter,
		},
	},
}

var _ = registry.RegisterFunc(config, hook{discovery: kube.Discovery}.run)

type hook struct {
	discovery func() (discovery.DiscoveryInterface, error)
}

func (h hook) run(_ context.Context, input *pkg.HookInput) error {
	s, err := facts.FromValues(input.Values)
	if err != nil {
		return fmt.Errorf("cluster: %w", err)
	}
	known := facts.Known[values.Cluster](input.Values, values.PathCluster)
	block := observed(known, input.Snapshots.Get(snapshotStack), input.Logger)
	block.Distribution = s.Distribution.Name
	block.ExtendedResources = extendedResources(block.FeatureGates, s.Settings)
	block.ForeignDeviceClasses = foreign(input.Snapshots.Get(snapshotClasses), deviceclass.Wanted(s.Settings, s.Profiles), input.Logger)
	block.RefusedDrivers = settings.RefusedDrivers(s.Settings, s.Profiles)
	block.RefusedDeviceClasses = settings.RefusedDeviceClasses(s.Settings)
	block.MonitoringAPIs = h.monitoring(known.MonitoringAPIs, input.Logger)
	return facts.Set(input.Values, values.PathCluster, block)
}
