// Package platform reads what the platform's own objects say of node groups: the Deckhouse NodeGroup. It is an adapter, the
// one that the nodegroups hook and, where no hooks run, the controller share, so that both come to the same GPUNodeGroup.
//
// NodeGroup is an optional kind: node-manager may be off, and a client without a right to read it must not stop the rest.
// So it is read when it is needed and never watched, and nothing here returns an error: how the read went is part of the
// result (nodegroup.Lookup).
package platform

import (
	"context"
	"errors"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// NodeGroupKind is the kind that is read.
var NodeGroupKind = schema.GroupVersionKind{Group: "deckhouse.io", Version: "v1", Kind: "NodeGroup"}

// NodeGroups reads every NodeGroup in one request and returns what it says of each of the named groups. The reader must not
// be a cache: a cache would start a watch on a kind that may not be there. On a distribution without node groups of its own
// the outcome is NotLookedUp for all, and nothing is read.
func NodeGroups(ctx context.Context, reader client.Reader, d profile.Distribution, drivers []*profile.Driver, names []string) map[string]nodegroup.Platform {
	out := make(map[string]nodegroup.Platform, len(names))
	if d.NodeGroupLabel == "" {
		for _, name := range names {
			out[name] = nodegroup.Platform{Lookup: nodegroup.NotLookedUp}
		}
		return out
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(NodeGroupKind.GroupVersion().WithKind(NodeGroupKind.Kind + "List"))
	failed := nodegroup.Platform{Lookup: nodegroup.NotFound}
	if err := reader.List(ctx, list); err != nil {
		failed = outcome(err)
	}
	for _, name := range names {
		out[name] = failed
	}
	fields := Fields(d, drivers)
	for i := range list.Items {
		if name := list.Items[i].GetName(); slices.Contains(names, name) {
			out[name] = nodegroup.Platform{
				Lookup:         nodegroup.Found,
				UID:            string(list.Items[i].GetUID()),
				Managers:       managers(&list.Items[i], fields),
				Taints:         taints(&list.Items[i]),
				KubeletRootDir: kubeletRootDir(&list.Items[i]),
				NodeGroup:      Reservation(&list.Items[i]),
			}
		}
	}
	return out
}

// Fields returns the traces of other managers that are fields of a NodeGroup.
func Fields(d profile.Distribution, drivers []*profile.Driver) []profile.ManagerTrace {
	traces := slices.Clone(d.Managers)
	for _, p := range drivers {
		traces = append(traces, p.Managers...)
	}
	return slices.DeleteFunc(traces, func(t profile.ManagerTrace) bool { return t.NodeGroupField == "" })
}

func managers(group *unstructured.Unstructured, fields []profile.ManagerTrace) []v1alpha1.Manager {
	var out []v1alpha1.Manager
	for _, t := range fields {
		value, found, err := unstructured.NestedFieldNoCopy(group.Object, strings.Split(t.NodeGroupField, ".")...)
		if err == nil && found && value != nil {
			out = append(out, v1alpha1.Manager{Name: t.Name, Evidence: t.NodeGroupField})
		}
	}
	slices.SortFunc(out, func(a, b v1alpha1.Manager) int {
		return strings.Compare(a.Name+"\x00"+a.Evidence, b.Name+"\x00"+b.Evidence)
	})
	return slices.Compact(out)
}

// outcome tells a kind that is not served from one that could not be read.
func outcome(err error) nodegroup.Platform {
	if Absent(err) {
		return nodegroup.Platform{Lookup: nodegroup.KindAbsent}
	}
	return nodegroup.Platform{Lookup: nodegroup.Unreadable, Message: Reason(err)}
}

// Absent says whether an error means that the cluster serves no such kind.
func Absent(err error) bool {
	return meta.IsNoMatchError(err) || apierrors.IsNotFound(err)
}

// Reason is the text of an error for a status: the API server's own words where it answered. Errors of the connection name
// ports and addresses that differ each time, and a status that tells them would change without end.
func Reason(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		if s := status.Status(); s.Message != "" && s.Reason != metav1.StatusReasonUnknown {
			return s.Message
		}
	}
	return "the API server did not answer"
}
