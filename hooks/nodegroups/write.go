package nodegroups

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/deckhouse/module-sdk/pkg"
	objectpatch "github.com/deckhouse/module-sdk/pkg/object-patch"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/platform"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

const kind = "GPUNodeGroup"

// write brings the object (nil: there is none) to the wanted owner and status. addon-operator's patcher has a small budget
// of requests, so nothing is sent that would change nothing.
func write(patches pkg.PatchCollector, name string, have *unstructured.Unstructured, p nodegroup.Platform, status v1alpha1.GPUNodeGroupStatus) error {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&status)
	if err != nil {
		return err
	}
	var options []pkg.PatchCollectorOption
	if have == nil {
		// Unstructured, because the SDK silently drops a plain map. Without the status, which the API server takes by a
		// request of its own only; operations run in the order collected.
		have = &unstructured.Unstructured{}
		have.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind(kind))
		have.SetName(name)
		if refs := platform.Owners(nil, name, p); len(refs) > 0 {
			have.SetOwnerReferences(refs)
		}
		patches.CreateIfNotExists(have)
	} else {
		// Whoever deletes the object meanwhile (the garbage collector, with its NodeGroup) gets it back with the next run.
		options = append(options, objectpatch.WithIgnoreMissingObject(true))
		owned := have.DeepCopy()
		owned.SetOwnerReferences(platform.Owners(have.GetOwnerReferences(), name, p))
		if err := merge(patches, have, owned, options...); err != nil {
			return err
		}
		have = owned
	}
	want := have.DeepCopy()
	want.Object["status"] = fields
	return merge(patches, have, want, append(options, objectpatch.WithSubresource("/status"))...)
}

// merge sends the difference as a merge patch, in which what went away is an explicit null.
func merge(patches pkg.PatchCollector, have, want *unstructured.Unstructured, options ...pkg.PatchCollectorOption) error {
	data, err := client.MergeFrom(have).Data(want)
	if err != nil {
		return err
	}
	if bytes.Equal(bytes.TrimSpace(data), []byte("{}")) {
		return nil
	}
	patches.PatchWithMerge(json.RawMessage(data), v1alpha1.GroupVersion.String(), kind, "", want.GetName(), options...)
	return nil
}

// remove deletes the objects of groups that are no longer listed.
func remove(patches pkg.PatchCollector, have map[string]group, listed []settings.NodeGroup) {
	var gone []string
	for name, g := range have {
		if g.raw.GetDeletionTimestamp() == nil && !slices.ContainsFunc(listed, func(l settings.NodeGroup) bool { return l.Name == name }) {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	for _, name := range gone {
		patches.DeleteInBackground(v1alpha1.GroupVersion.String(), kind, "", name)
	}
}
