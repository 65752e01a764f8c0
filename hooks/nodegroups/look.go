package nodegroups

import (
	"context"
	"fmt"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/tidwall/gjson"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/platform"
)

// looked is what the handler reads by itself.
type looked struct {
	// groups are the GPUNodeGroups by name; nil when they could not be read. They are not bound: each write of ours would
	// run the hook again.
	groups map[string]group
	// heartbeat of the controller; nil when there is none or it could not be read, which are the same doubt.
	heartbeat *metav1.Time
	// platforms by the name of the group.
	platforms map[string]nodegroup.Platform
}

// look never fails: what could not be read is unknown, and the log says why.
func (h hook) look(ctx context.Context, s facts.Settings, logger pkg.Logger) looked {
	names := make([]string, len(s.NodeGroups))
	for i, g := range s.NodeGroups {
		names[i] = g.Name
	}
	reader, err := h.reader()
	if err != nil {
		logger.Warn(fmt.Sprintf("no client for the API server; GPUNodeGroups are left as they are: %s", err))
		out := looked{platforms: map[string]nodegroup.Platform{}}
		for _, name := range names {
			out.platforms[name] = nodegroup.Platform{Lookup: nodegroup.Unreadable, Message: "there is no client for the API server"}
		}
		return out
	}
	out := looked{platforms: platform.NodeGroups(ctx, reader, s.Distribution, s.Profiles.All(), names)}
	for _, name := range names {
		if p := out.platforms[name]; p.Lookup == nodegroup.Unreadable {
			logger.Warn("NodeGroups cannot be read: " + p.Message)
			break
		}
	}

	var stack v1alpha1.GPUStack
	switch err := reader.Get(ctx, client.ObjectKey{Name: v1alpha1.StackName}, &stack); {
	case err == nil:
		out.heartbeat = stack.Status.Heartbeat
	case !apierrors.IsNotFound(err):
		logger.Warn(fmt.Sprintf("the GPUStack cannot be read; whether the controller is alive is unknown: %s", err))
	}

	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind + "List"))
	if err := reader.List(ctx, list); err != nil {
		logger.Warn(fmt.Sprintf("GPUNodeGroups cannot be read and are left as they are: %s", err))
		return out
	}
	out.groups = make(map[string]group, len(list.Items))
	for i := range list.Items {
		out.groups[list.Items[i].GetName()] = read(&list.Items[i], logger)
	}
	return out
}

// group is a GPUNodeGroup that exists.
type group struct {
	// raw is the object as the API server has it: a difference to it is a difference, whatever a type would fill in.
	raw *unstructured.Unstructured
	// status that it decodes to, empty where it does not.
	status v1alpha1.GPUNodeGroupStatus
}

func read(raw *unstructured.Unstructured, logger pkg.Logger) group {
	var typed v1alpha1.GPUNodeGroup
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(raw.Object, &typed); err != nil {
		logger.Warn(fmt.Sprintf("the status of GPUNodeGroup %s cannot be read and is written anew: %s", raw.GetName(), err))
		return group{raw: raw}
	}
	return group{raw: raw, status: typed.Status}
}

// stackStatus joins what the snapshot says with the heartbeat. "Synced" and the hash come from the snapshot and not from the
// object just read, since the GPUNodes come from a snapshot too: newer words about older nodes would call missing nodes gone.
func stackStatus(snapshots []pkg.Snapshot, heartbeat *metav1.Time) *v1alpha1.GPUStackStatus {
	var out *v1alpha1.GPUStackStatus
	for _, s := range snapshots {
		fact := gjson.Parse(s.String())
		if fact.Get("n").Str == v1alpha1.StackName {
			out = &v1alpha1.GPUStackStatus{Synced: fact.Get("y").Type == gjson.True, SettingsHash: fact.Get("h").Str, Heartbeat: heartbeat}
		}
	}
	return out
}
