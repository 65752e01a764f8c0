package inventory

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

func TestDigestKeepsWhatACacheNeeds(t *testing.T) {
	full := fixture(t, "testdata/whole.yaml")[0]
	full.Labels = map[string]string{"large": "label"}
	full.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "someone"}}
	s := Digest(full, testProfiles(t))

	require.Equal(t, metav1.ObjectMeta{Name: "alpha-1", UID: "u-alpha-1", ResourceVersion: "7"}, s.ObjectMeta)
	key, err := cache.MetaNamespaceKeyFunc(s)
	require.NoError(t, err)
	require.Equal(t, "alpha-1", key)
	accessor, err := meta.Accessor(s)
	require.NoError(t, err)
	require.Equal(t, "7", accessor.GetResourceVersion())

	require.Equal(t, "gpu.nvidia.com", s.Driver())
	require.Equal(t, "nvidia", s.Profile())
	require.True(t, s.Accelerator())
	require.Equal(t, "alpha", s.Pool())
	require.Equal(t, "gpu.nvidia.com/alpha", s.PoolKey())
	require.Equal(t, int64(1), s.PoolGeneration())
	require.Equal(t, int32(2), s.Published())
	require.Equal(t, []string{"alpha"}, s.Nodes())
	require.False(t, s.CountersOnly())

	var object runtime.Object = s
	require.Equal(t, s, object.DeepCopyObject())
	require.Nil(t, (*Slice)(nil).DeepCopyObject())
	require.True(t, object.GetObjectKind().GroupVersionKind().Empty())
}

func TestDigestTellsTheLayout(t *testing.T) {
	d := NewDigester(testProfiles(t))
	split := digestAll(d, fixture(t, "testdata/dynamic-mig-split.yaml"))
	require.True(t, split[0].CountersOnly())
	require.False(t, split[1].CountersOnly())
	require.False(t, split[0].InlineCounters() || split[1].InlineCounters())
	inline := digestAll(d, fixture(t, "testdata/dynamic-mig-inline.yaml"))
	require.False(t, inline[0].CountersOnly())
	require.True(t, inline[0].InlineCounters())
	chassis := digestAll(d, fixture(t, "testdata/per-device.yaml"))
	require.True(t, chassis[0].CountersOnly())
	require.Equal(t, []string{"left", "right"}, chassis[1].Nodes())
}

// A driver is named as long as one of its slices is in the old layout, whatever its generation: the API server refuses them all.
func TestInlineCountersOfTheCluster(t *testing.T) {
	d := NewDigester(testProfiles(t))
	looked := Build(digestAll(d, fixture(t, "testdata/whole.yaml")))
	require.Equal(t, []string{}, looked.InlineCounters, "looked, and there is none")

	old := fixture(t, "testdata/dynamic-mig-inline.yaml")
	next := old[0].DeepCopy()
	next.Name, next.Spec.SharedCounters = "next", nil
	next.Spec.Pool.Generation++
	all := digestAll(d, append(old, next))
	require.Equal(t, []string{"gpu.nvidia.com"}, Build(all).InlineCounters)
	require.Equal(t, []string{"gpu.nvidia.com"}, ForCluster(all).InlineCounters)

	apart := old[0].DeepCopy()
	apart.Spec.Devices = nil
	require.False(t, d.Digest(old[0]).Equal(d.Digest(apart)))
	// A slice that differs in nothing but that the sets are declared elsewhere.
	bare := old[0].DeepCopy()
	bare.Spec.SharedCounters = nil
	require.False(t, d.Digest(old[0]).Equal(d.Digest(bare)))
}

func TestTransform(t *testing.T) {
	d := NewDigester(testProfiles(t))
	transform := cache.TransformFunc(d.Transform)
	once, err := transform(fixture(t, "testdata/whole.yaml")[0])
	require.NoError(t, err)
	require.IsType(t, &Slice{}, once)
	twice, err := transform(once)
	require.NoError(t, err)
	require.Same(t, once, twice)
	gone := cache.DeletedFinalStateUnknown{Key: "alpha-1", Obj: once}
	same, err := transform(gone)
	require.NoError(t, err)
	require.Equal(t, gone, same)
}

// Whatever is missing, nothing panics.
func TestDigestOfNothing(t *testing.T) {
	require.Nil(t, Digest(nil, testProfiles(t)))
	require.Empty(t, rows(Build(nil)))
	require.Empty(t, rows(Build([]*Slice{nil})))
	require.Equal(t, Node{Name: "n"}, ForNode("n", []*Slice{nil}))

	empty, no, yes := "", false, true
	shared := map[string]int{"empty names": 1}
	for name, spec := range map[string]resourcev1.ResourceSliceSpec{
		"zero":              {},
		"nothing is chosen": {NodeName: &empty, AllNodes: &no, PerDeviceNodeSelection: &no, Devices: []resourcev1.Device{{}}},
		"per device":        {Driver: "gpu.nvidia.com", PerDeviceNodeSelection: &yes, Devices: []resourcev1.Device{{}, {NodeName: &empty}}},
		"empty names": {
			Driver: "gpu.nvidia.com", AllNodes: &yes,
			SharedCounters: []resourcev1.CounterSet{{}},
			Devices:        []resourcev1.Device{{ConsumesCounters: []resourcev1.DeviceCounterConsumption{{}, {}}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			slice := &resourcev1.ResourceSlice{Spec: spec}
			for _, s := range []*Slice{Digest(slice, testProfiles(t)), Digest(slice, nil)} {
				c := Build([]*Slice{s, nil, s})
				require.Empty(t, c.Nodes)
				require.Len(t, c.SharedPools, shared[name])
			}
		})
	}
	require.Equal(t, []string{""}, Build([]*Slice{Digest(&resourcev1.ResourceSlice{}, nil)}).UnknownDrivers)
}

func TestClusterNode(t *testing.T) {
	d := NewDigester(testProfiles(t))
	c := Build(digestAll(d, fixture(t, "testdata/per-device.yaml")))
	right, ok := c.Node("right")
	require.True(t, ok)
	require.Equal(t, "right", right.Name)
	absent, ok := c.Node("middle")
	require.False(t, ok)
	require.Equal(t, Node{Name: "middle"}, absent)
}

// Objects of other types in an index neither panic nor match.
func TestIndicesIgnoreStrangers(t *testing.T) {
	for _, index := range []func(any) ([]string, error){NodeIndex, PoolIndex, UnknownDriverIndex, InlineCountersIndex} {
		for _, obj := range []any{nil, "text", (*Slice)(nil), &resourcev1.ResourceSlice{}} {
			values, err := index(obj)
			require.NoError(t, err)
			require.Empty(t, values)
		}
	}
}

type brokenIndexer struct{ calls int }

func (b *brokenIndexer) ByIndex(index, value string) ([]any, error) {
	if b.calls--; b.calls < 0 {
		return nil, errors.New("index is gone")
	}
	return []any{Digest(&resourcev1.ResourceSlice{}, nil)}, nil
}

func (b *brokenIndexer) ListIndexFuncValues(string) []string { return nil }

func TestIndexErrorsComeBack(t *testing.T) {
	for calls := range 2 {
		_, err := NodeFrom(&brokenIndexer{calls}, "n")
		require.ErrorContains(t, err, "index is gone")
		_, err = ClusterWideFrom(&brokenIndexer{calls})
		require.ErrorContains(t, err, "index is gone")
	}
	_, err := Touched(&brokenIndexer{}, Digest(&resourcev1.ResourceSlice{}, nil))
	require.ErrorContains(t, err, "index is gone")
}
