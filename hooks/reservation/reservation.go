// Package reservation holds the hooks that write kubelet memory into Deckhouse NodeGroups and take it back. What is written,
// internal/reservation decides; that it will be written stands in the GPUNodeGroup before, because the kubelets of a group
// restart with it.
//
// NodeGroup is an optional kind, so it is read and never bound. The hook writes by itself and not through the SDK's patches:
// a patch that a webhook of the platform refuses would stop the module for good, and one that came too late has to be decided
// anew.
package reservation

import (
	"context"
	"fmt"
	"time"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/pkg/registry"
	"github.com/tidwall/gjson"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
	"github.com/gpu-dra/gpu-dra/hooks/internal/kube"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	core "github.com/gpu-dra/gpu-dra/internal/reservation"
)

const snapshotGroups = "groups"

// groupFilter leaves of a GPUNodeGroup what was said of its memory, so that the hook runs when that changes. It is total, as
// the filters of `nodegroups` are.
const groupFilter = `{
n: ((.metadata.name? | strings) // ""),
r: (([.status.conditions?[]? | objects | select(.type == "` + condition.MemoryReserved + `") | .reason | strings] | first) // "")}`

var config = &pkg.HookConfig{
	// A queue of its own: addon-operator joins waiting runs of one hook only where no other hook's run stands between them.
	Queue: "/modules/gpu-dra/reservation",
	// After `nodegroups`, which announces.
	OnBeforeHelm: &pkg.OrderedConfig{Order: 30},
	// What could not be written is tried again, and a group that was taken off the list has no event.
	Schedule: []pkg.ScheduleConfig{{Name: "poll", Crontab: "@every 1m"}},
	Kubernetes: []pkg.KubernetesConfig{{
		Name:       snapshotGroups,
		APIVersion: v1alpha1.GroupVersion.String(),
		Kind:       "GPUNodeGroup",
		JqFilter:   groupFilter,
	}},
}

var _ = registry.RegisterFunc(config, hook{cluster: kubeCluster, now: time.Now}.run)

type hook struct {
	cluster func() (cluster, error)
	now     func() time.Time
}

func kubeCluster() (cluster, error) { return kube.Client() }

// run fails only where the values are not ours. What the API server refuses is said in the log and tried again with the next
// run: a hook that fails stops the module, and with it the drivers.
func (h hook) run(ctx context.Context, input *pkg.HookInput) error {
	s, err := facts.FromValues(input.Values)
	if err != nil {
		return fmt.Errorf("reservation: %w", err)
	}
	if s.Distribution.NodeGroupLabel == "" {
		return nil
	}
	c, err := h.cluster()
	if err != nil {
		input.Logger.Warn(fmt.Sprintf("no client for the API server; no NodeGroup is written: %s", err))
		return nil
	}
	w := &writer{cluster: c, log: input.Logger}
	groups, err := w.groups(ctx)
	if err != nil {
		input.Logger.Warn(fmt.Sprintf("NodeGroups cannot be read, none is written: %s", err))
		return nil
	}
	d := &decider{cluster: c, settings: s, announced: announced(input.Snapshots.Get(snapshotGroups)), now: h.now()}
	for i := range groups {
		decide, err := d.of(ctx, &groups[i])
		var done core.Decision
		if err == nil && decide != nil {
			done, err = w.send(ctx, &groups[i], decide)
		}
		switch {
		case err == nil && d.listed(&groups[i]) < 0 && stays(done):
			// No GPUNodeGroup is there to say it.
			input.Logger.Warn(done.Message)
		case err != nil:
			input.Logger.Warn(fmt.Sprintf("NodeGroup %s: %s is not written and stays as it is; the next try is in a minute: %s",
				groups[i].GetName(), core.FieldPath, err))
		}
	}
	return nil
}

// announced is the reason of the condition MemoryReserved by group.
func announced(snapshots []pkg.Snapshot) map[string]string {
	out := map[string]string{}
	for _, s := range snapshots {
		fact := gjson.Parse(s.String())
		out[fact.Get("n").Str] = fact.Get("r").Str
	}
	return out
}
