package stack

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Compute returns the status that follows from prev and in. The same facts give the same status, whatever their order, and
// computing it again from its own result changes nothing but an old heartbeat. While the controller is still reading, and
// where a fact could not be read, the last known value stands and the condition says Unknown, or what was last known to be
// wrong.
func Compute(prev v1alpha1.GPUStackStatus, in Input, now time.Time) v1alpha1.GPUStackStatus {
	if in.Profiles == nil {
		in.Profiles = &profile.Set{}
	}
	out := v1alpha1.GPUStackStatus{
		SettingsHash:         in.SettingsHash,
		Synced:               in.Synced,
		Heartbeat:            heartbeat(prev.Heartbeat, now),
		ControllerVersion:    in.ControllerVersion,
		KubernetesVersion:    cmp.Or(in.KubernetesVersion, prev.KubernetesVersion),
		ResourceAPIs:         sortedSet(in.ResourceAPIs),
		KubeletVersions:      kubeletVersions(in.Nodes),
		SharedPools:          sharedPools(in.SharedPools),
		Unmanaged:            unmanaged(in.Unmanaged),
		UnknownDrivers:       sortedSet(in.UnknownDrivers),
		ForeignDeviceClasses: sortedSet(in.ForeignDeviceClasses),
	}
	if len(out.ResourceAPIs) == 0 && in.doubt(FactResourceAPIs) != "" {
		out.ResourceAPIs = prev.ResourceAPIs
	}
	if in.doubt(FactSlices) != "" {
		out.SharedPools = lastKnown(prev.SharedPools, out.SharedPools)
		out.Unmanaged = lastKnown(prev.Unmanaged, out.Unmanaged)
		out.UnknownDrivers = lastKnown(prev.UnknownDrivers, out.UnknownDrivers)
	}
	if in.doubt(FactDeviceClasses) != "" {
		out.ForeignDeviceClasses = lastKnown(prev.ForeignDeviceClasses, out.ForeignDeviceClasses)
	}
	if !in.Synced {
		out.KubeletVersions = lastKnown(prev.KubeletVersions, out.KubeletVersions)
	}
	out.Conflicts = conflicts(prev.Conflicts, in)
	out.FeatureGates = featureGates(prev.FeatureGates, in, out, featuregate.Newest+1)
	out.Summary = summary(prev.Summary, in, out)
	out.Conditions = condition.Merge(prev.Conditions, conditions(in, out), now)
	return out
}

// heartbeat moves in steps of the interval, so that a status computed for another reason is not a change by itself.
func heartbeat(prev *metav1.Time, now time.Time) *metav1.Time {
	if prev != nil && now.Sub(prev.Time) < v1alpha1.HeartbeatInterval && !prev.After(now) {
		return prev.DeepCopy()
	}
	t := metav1.NewTime(now.Truncate(time.Second))
	return &t
}

// lastKnown prefers what was known when all could be read to what a doubtful read shows.
func lastKnown[T any](prev, read []T) []T {
	if len(prev) > 0 {
		return slices.Clone(prev)
	}
	return read
}

// sortedSet is nil for an empty list, as a status read from the API has it.
func sortedSet(list []string) []string {
	out := append([]string(nil), list...)
	slices.Sort(out)
	return slices.Compact(out)
}

// kubeletVersions counts the nodes of listed groups.
func kubeletVersions(nodes []v1alpha1.GPUNode) []v1alpha1.VersionCount {
	count := map[string]int32{}
	for _, n := range nodes {
		if version := KubeletVersion(n); version != "" {
			count[version]++
		}
	}
	var out []v1alpha1.VersionCount
	for version, c := range count {
		out = append(out, v1alpha1.VersionCount{Version: version, Count: c})
	}
	slices.SortFunc(out, func(a, b v1alpha1.VersionCount) int { return cmp.Compare(a.Version, b.Version) })
	return out
}

// KubeletVersion is that of a node in a listed group, empty for any other node and while it is not known.
func KubeletVersion(n v1alpha1.GPUNode) string {
	if n.Status.Runtime == nil || len(n.Status.Groups) == 0 {
		return ""
	}
	return n.Status.Runtime.KubeletVersion
}

func sharedPools(pools []v1alpha1.SharedPool) []v1alpha1.SharedPool {
	out := append([]v1alpha1.SharedPool(nil), pools...)
	slices.SortFunc(out, func(a, b v1alpha1.SharedPool) int {
		return cmp.Or(cmp.Compare(a.Driver, b.Driver), cmp.Compare(a.Name, b.Name))
	})
	return out
}

func unmanaged(groups []v1alpha1.UnmanagedGroup) []v1alpha1.UnmanagedGroup {
	var out []v1alpha1.UnmanagedGroup
	for _, g := range groups {
		g.Drivers = sortedSet(g.Drivers)
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b v1alpha1.UnmanagedGroup) int { return cmp.Compare(a.Name, b.Name) })
	return out
}
