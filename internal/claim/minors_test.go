package claim

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"

	"github.com/gpu-dra/gpu-dra/internal/featuregate"
)

// everyFeature is a cluster with each gate of DRA on.
const everyFeature = "all gates"

// clusters are the features of the scheduler's allocator in a cluster of each minor with the gates as they are by default,
// and with all of them on. How gates make features is AllocatorFeatures in pkg/scheduler/framework/plugins/dynamicresources.
//
// The library is that of 1.37 for all of them. What those of older minors do otherwise (read at 0.34.4 and 0.37.2):
//   - 0.34 takes devices of an incomplete pool; later ones leave it alone until its last slice is there.
//   - 0.34 ends the whole attempt on an invalid pool; later ones go on and report it when nothing else was found.
//   - 0.34 has counters per slice, later ones per pool: a pool is laid out for one of the two.
//   - 0.34 keeps a device with a taint of any effect from claims; later ones only NoSchedule and NoExecute.
//   - 0.34 begins each further device of a request at the first device again, 0.37 after the one before: a device that may be
//     given to several claims, with less than the whole of it as the default, 0.34 can give to one claim twice.
//   - A runtime error names the device from 0.37 on only.
//
// Selectors, counts, lists of alternatives, constraints and configs, which are all that a claim template becomes, they treat
// alike.
var clusters = map[string]structured.Features{
	"1.34": {AdminAccess: true, PrioritizedList: true},
	"1.35": {AdminAccess: true, PrioritizedList: true},
	"1.36": {AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true, DeviceBindingAndStatus: true, ConsumableCapacity: true},
	"1.37": {AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true, DeviceBindingAndStatus: true, ConsumableCapacity: true},
	everyFeature: {
		AdminAccess: true, CompatibilityGroups: true, ConsumableCapacity: true, DerivedAttributes: true, DeviceBindingAndStatus: true,
		DeviceTaints: true, FractionalCapacityRange: true, ListTypeAttributes: true, OptionalNodeOperations: true,
		PartitionableDevices: true, PrioritizedList: true,
	},
}

// onEveryCluster runs a test with the features of each, in the order of minors.
func onEveryCluster(t *testing.T, test func(t *testing.T, features structured.Features)) {
	for _, name := range slices.Sorted(maps.Keys(clusters)) {
		t.Run(name, func(t *testing.T) { test(t, clusters[name]) })
	}
}

// The features of a minor are its gates by default; a feature's name is the gates that make it.
func TestClustersHaveTheGatesOfTheirMinor(t *testing.T) {
	gates := map[string][]string{"DRADeviceBindingConditions+DRAResourceClaimDeviceStatus": {"DRADeviceBindingConditions", "DRAResourceClaimDeviceStatus"}}
	for minor, name := range map[int]string{34: "1.34", 35: "1.35", 36: "1.36", 37: "1.37"} {
		want := sets.New[string]()
		for feature := range clusters[everyFeature].Set() {
			needed := gates[feature]
			if needed == nil {
				needed = []string{feature}
			}
			if !slices.ContainsFunc(needed, func(gate string) bool {
				on, known := featuregate.Default(gate, minor)
				require.True(t, known, gate)
				return !on
			}) {
				want.Insert(feature)
			}
		}
		require.Equal(t, want, clusters[name].Set(), name)
	}
}

var celCaches struct {
	sync.Mutex
	by map[cel.Features]*cel.Cache
}

// celCache keeps compiled expressions from one allocation to the next, as the scheduler does.
func celCache(f structured.Features) *cel.Cache {
	celCaches.Lock()
	defer celCaches.Unlock()
	features := cel.Features{EnableConsumableCapacity: f.ConsumableCapacity, EnableListTypeAttributes: f.ListTypeAttributes}
	if celCaches.by == nil {
		celCaches.by = map[cel.Features]*cel.Cache{}
	}
	if celCaches.by[features] == nil {
		celCaches.by[features] = cel.NewCache(500, features)
	}
	return celCaches.by[features]
}

// served returns slices as an API server with these features has them: it drops the fields of a gate that is off.
func served(f structured.Features, published []*resourcev1.ResourceSlice) []*resourcev1.ResourceSlice {
	var out []*resourcev1.ResourceSlice
	for _, s := range published {
		s = s.DeepCopy()
		if !f.PartitionableDevices {
			s.Spec.SharedCounters = nil
		}
		for i := range s.Spec.Devices {
			d := &s.Spec.Devices[i]
			if !f.PartitionableDevices {
				d.ConsumesCounters = nil
			}
			if !f.DeviceTaints {
				d.Taints = nil
			}
			if !f.ConsumableCapacity {
				d.AllowMultipleAllocations = nil
				for name, c := range d.Capacity {
					c.RequestPolicy = nil
					d.Capacity[name] = c
				}
			}
		}
		out = append(out, s)
	}
	return out
}
