package reservation

import (
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/platform"
	core "github.com/gpu-dra/gpu-dra/internal/reservation"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// decision of what to do with a NodeGroup as it was read just now.
type decision func(core.NodeGroup) core.Decision

// giveBack is the decision on a group that nothing is reserved for any more, and why not.
func giveBack(why string) decision {
	return func(g core.NodeGroup) core.Decision {
		return core.Decide(core.Input{Settings: settings.MemoryReservation{Mode: core.ModeOff}, NodeGroup: g, Why: why})
	}
}

// stays says whether giveBack decided to leave in force what was written. ReasonOff is that of a NodeGroup without our annotation:
// somebody removed it between reading and writing.
func stays(d core.Decision) bool { return d.Action == core.LeaveAlone && d.Reason != core.ReasonOff }

// decider knows what is the same for all groups of a run.
type decider struct {
	cluster
	settings  facts.Settings
	announced map[string]string
	now       time.Time
	// stack and nodes are read when a group needs them: at thousands of nodes that is most of a run's work, and mostly there
	// is nothing to write.
	read  bool
	stack *v1alpha1.GPUStackStatus
	nodes []v1alpha1.GPUNode
}

// of returns how to decide on a NodeGroup, nil where there is nothing to do. Something is to be given back wherever our
// annotation stands, even where the group is no longer listed; something is written only after it was announced.
func (d *decider) of(ctx context.Context, group *unstructured.Unstructured) (decision, error) {
	ours := group.GetAnnotations()[core.AnnotationKey] != ""
	i := d.listed(group)
	if i < 0 {
		if ours {
			return giveBack("the group is no longer listed in nodeGroups"), nil
		}
		return nil, nil
	}
	listed := d.settings.NodeGroups[i]
	if core.Effective(d.settings.MemoryReservation, listed.MemoryReservation).Mode != core.ModeApply {
		if !ours {
			return nil, nil
		}
	} else if reason := d.announced[listed.Name]; reason != core.ReasonApplying && reason != core.ReasonRestoring {
		return nil, nil
	} else if err := d.facts(ctx); err != nil {
		return nil, err
	}
	return func(g core.NodeGroup) core.Decision {
		return nodegroup.Input{
			Group:             listed,
			MemoryReservation: d.settings.MemoryReservation,
			Platform:          nodegroup.Platform{Lookup: nodegroup.Found, NodeGroup: g},
			Hooks:             true,
			Nodes:             d.nodes,
			Stack:             d.stack,
			SettingsHash:      d.settings.Hash,
			Distribution:      d.settings.Distribution,
			Profiles:          d.settings.Profiles,
		}.Memory(d.now).Decision
	}, nil
}

// listed is the index of the NodeGroup in the settings, below zero where it is not listed.
func (d *decider) listed(group *unstructured.Unstructured) int {
	return slices.IndexFunc(d.settings.NodeGroups, func(g settings.NodeGroup) bool { return g.Name == group.GetName() })
}

// facts reads the GPUStack first: one that says "synced" must never meet older GPUNodes.
func (d *decider) facts(ctx context.Context) error {
	if d.read {
		return nil
	}
	stack := &v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StackName}}
	if err := d.Get(ctx, client.ObjectKeyFromObject(stack), stack); err != nil {
		return fmt.Errorf("the GPUStack cannot be read: %w", err)
	}
	nodes := &v1alpha1.GPUNodeList{}
	if err := d.List(ctx, nodes); err != nil {
		return fmt.Errorf("GPUNodes cannot be read: %w", err)
	}
	d.read, d.stack, d.nodes = true, &stack.Status, nodes.Items
	return nil
}

// groups lists the NodeGroups that are there to stay; none where the cluster serves no such kind.
func (w *writer) groups(ctx context.Context) ([]unstructured.Unstructured, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(platform.NodeGroupKind.GroupVersion().WithKind(platform.NodeGroupKind.Kind + "List"))
	if err := w.List(ctx, list); err != nil {
		if platform.Absent(err) {
			return nil, nil
		}
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(u unstructured.Unstructured) bool { return u.GetDeletionTimestamp() != nil }), nil
}
