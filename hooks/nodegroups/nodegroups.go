// Package nodegroups is the hook that writes the verdict on each listed node group: GPUNodeGroup, and the group's entry in the
// values. What the verdict is, internal/nodegroup decides.
//
// It runs before Helm (after `cluster`), when a GPUNode or the GPUStack changes in what the verdict rests on, and every
// minute, because NodeGroups are not bound (a binding to a kind that may be absent blocks the module) and because a heartbeat
// grows stale without an event.
package nodegroups

import (
	"context"
	"fmt"
	"time"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/pkg/registry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
	"github.com/gpu-dra/gpu-dra/hooks/internal/kube"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

// Names of the snapshots.
const (
	snapshotStack = "stack"
	snapshotNodes = "nodes"
)

var config = &pkg.HookConfig{
	// A queue of its own: addon-operator joins waiting runs of one hook only where no other hook's run stands between them.
	Queue:        "/modules/gpu-dra/nodegroups",
	OnBeforeHelm: &pkg.OrderedConfig{Order: 20},
	Schedule:     []pkg.ScheduleConfig{{Name: "poll", Crontab: "@every 1m"}},
	Kubernetes: []pkg.KubernetesConfig{
		{
			// First, so that it is listed before the GPUNodes: a GPUStack that says "synced" must never meet older GPUNodes.
			Name:         snapshotStack,
			APIVersion:   v1alpha1.GroupVersion.String(),
			Kind:         "GPUStack",
			NameSelector: &pkg.NameSelector{MatchNames: []string{v1alpha1.StackName}},
			JqFilter:     stackFilter,
		},
		{
			Name:       snapshotNodes,
			APIVersion: v1alpha1.GroupVersion.String(),
			Kind:       "GPUNode",
			JqFilter:   nodeFilter,
		},
	},
}

var _ = registry.RegisterFunc(config, hook{reader: kube.Reader, now: time.Now}.run)

type hook struct {
	reader func() (client.Reader, error)
	now    func() time.Time
}

func (h hook) run(ctx context.Context, input *pkg.HookInput) error {
	s, err := facts.FromValues(input.Values)
	if err != nil {
		return fmt.Errorf("nodegroups: %w", err)
	}
	known := map[string]values.NodeGroup{}
	for _, g := range facts.Known[[]values.NodeGroup](input.Values, values.PathNodeGroups) {
		known[g.Name] = g
	}
	cluster := h.look(ctx, s, input.Logger)
	stack := stackStatus(input.Snapshots.Get(snapshotStack), cluster.heartbeat)
	nodes := nodesByGroup(input.Snapshots.Get(snapshotNodes))

	entries := make([]values.NodeGroup, 0, len(s.NodeGroups))
	for _, g := range s.NodeGroups {
		have, exists := cluster.groups[g.Name]
		if !exists {
			// The values outlive an object that somebody deleted, and stand in for one that could not be read.
			have.status.DevicesPerNode = known[g.Name].DevicesPerNode
		}
		in := nodegroup.Input{
			Group:             g,
			MemoryReservation: s.MemoryReservation,
			Platform:          cluster.platforms[g.Name],
			Hooks:             true,
			Nodes:             nodes[g.Name],
			Stack:             stack,
			SettingsHash:      s.Hash,
			Distribution:      s.Distribution,
			Profiles:          s.Profiles,
		}
		if in.Platform.Lookup == nodegroup.Unreadable {
			// The verdict and the templates go by what was known of the NodeGroup.
			in.Platform.KubeletRootDir = known[g.Name].KubeletRootDir
		}
		now := h.now()
		status := nodegroup.Compute(have.status, in, now)
		entries = append(entries, entry(in, status, known[g.Name], now))
		if cluster.groups == nil {
			continue
		}
		if err := write(input.PatchCollector, g.Name, have.raw, in.Platform, status); err != nil {
			return fmt.Errorf("nodegroups: %w", err)
		}
	}
	remove(input.PatchCollector, cluster.groups, s.NodeGroups)
	return facts.Set(input.Values, values.PathNodeGroups, entries)
}
