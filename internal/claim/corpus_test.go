package claim

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/claim/claimtest"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// corpusEnv names a folder with slices that drivers have really published, in files below slices/.
const corpusEnv = "GPU_DRA_CORPUS"

// What drivers have really published of every known profile, with claims made up from the figures in it: no claim is an
// error, what a claim gets is what was asked for, and it gets something where there is something.
func TestClaimsOnTheCorpus(t *testing.T) {
	root := os.Getenv(corpusEnv)
	if root == "" {
		t.Logf("%s is not set: the corpus is not here, and the devices in testdata/vendors stand alone", corpusEnv)
		return
	}
	files, err := filepath.Glob(filepath.Join(root, "slices", "*.yaml"))
	require.NoError(t, err)
	driverRuns, err := filepath.Glob(filepath.Join(root, "slices", "driver-run", "*.yaml"))
	require.NoError(t, err)
	set := profiles(t)
	tried := map[string]int{}
	for _, file := range append(files, driverRuns...) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			for key, published := range byNode(readSlices(t, file)) {
				d, known := set.ByDriver(key.driver)
				if !known || d.DriverName != key.driver {
					continue
				}
				tried[d.Name]++
				minors := []string{"1.34", "1.36", everyFeature}
				if devices, _ := newest(published); len(devices) > 50 {
					// It takes seconds each.
					minors = minors[1:2]
				}
				for _, minor := range minors {
					t.Run(key.node+"/"+d.Name+"/"+minor, func(t *testing.T) { tryEverything(t, d, clusters[minor], key.node, published) })
				}
			}
		})
	}
	require.NotEmpty(t, tried)
	t.Logf("nodes tried by profile: %v", tried)
}

type nodeAndDriver struct{ node, driver string }

func byNode(published []*resourcev1.ResourceSlice) map[nodeAndDriver][]*resourcev1.ResourceSlice {
	out := map[nodeAndDriver][]*resourcev1.ResourceSlice{}
	for _, s := range published {
		if node := ptr.Deref(s.Spec.NodeName, ""); node != "" {
			key := nodeAndDriver{node, s.Spec.Driver}
			out[key] = append(out[key], s)
		}
	}
	return out
}

// readSlices reads slices of any version; those older than v1 differ in where a device's fields stand, if in anything.
func readSlices(t *testing.T, file string) []*resourcev1.ResourceSlice {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	var out []*resourcev1.ResourceSlice
	for _, document := range strings.Split("\n"+string(data), "\n---") {
		var object struct {
			Kind  string
			Items []map[string]any
			Spec  map[string]any
		}
		require.NoError(t, yaml.Unmarshal([]byte(document), &object))
		switch object.Kind {
		case "ResourceSliceList", "List":
			for _, item := range object.Items {
				spec, _ := item["spec"].(map[string]any)
				out = append(out, sliceOf(t, spec))
			}
		case "ResourceSlice":
			out = append(out, sliceOf(t, object.Spec))
		}
	}
	for i, s := range out {
		s.Name = fmt.Sprintf("%s-%d", filepath.Base(file), i)
	}
	return out
}

func sliceOf(t *testing.T, spec map[string]any) *resourcev1.ResourceSlice {
	t.Helper()
	devices, _ := spec["devices"].([]any)
	for _, d := range devices {
		device := d.(map[string]any)
		basic, _ := device["basic"].(map[string]any)
		maps.Copy(device, basic)
		delete(device, "basic")
	}
	data, err := yaml.Marshal(map[string]any{"spec": spec})
	require.NoError(t, err)
	s := &resourcev1.ResourceSlice{}
	require.NoError(t, yaml.Unmarshal(data, s))
	return s
}

func tryEverything(t *testing.T, d *profile.Driver, features structured.Features, nodeName string, published []*resourcev1.ResourceSlice) {
	available, plain := newest(served(features, published))
	for _, spec := range questions(d, available) {
		n := nodeWith(t, d, features, published...)
		n.name = nodeName
		got, err := n.allocate(spec)
		text := fmt.Sprintf("%+v", spec)
		require.NoError(t, err, text)
		var smallest int64 = math.MaxInt64
		fitting := 0
		for i := range available {
			if fits(d, spec, &available[i]) {
				fitting++
				smallest = min(smallest, memoryOf(d, &available[i]))
			}
		}
		if len(got.Results) == 0 {
			require.True(t, fitting < int(spec.Count) || !plain, "%d devices satisfy, and the claim got none: %s", fitting, text)
			continue
		}
		require.Len(t, got.Results, int(spec.Count), text)
		given := map[string]bool{}
		for _, r := range got.Results {
			require.False(t, given[r.Device], "%s twice: %s", r.Device, text)
			given[r.Device] = true
			i := slices.IndexFunc(available, func(a resourcev1.Device) bool { return a.Name == r.Device })
			require.GreaterOrEqual(t, i, 0, r.Device)
			require.True(t, fits(d, spec, &available[i]), "%s does not satisfy: %s", r.Device, text)
			if spec.MinMemory != nil && spec.Count == 1 && plain {
				require.Equal(t, rung(smallest, *spec.MinMemory), rung(memoryOf(d, &available[i]), *spec.MinMemory), "%s is not the smallest: %s", r.Device, text)
			}
		}
	}
}

// newest are the devices of each pool's newest generation. plain is whether nothing but selectors decides on them: no
// counters, no taints, and every pool is complete.
func newest(published []*resourcev1.ResourceSlice) (devices []resourcev1.Device, plain bool) {
	generation, count := map[string]int64{}, map[string]int64{}
	for _, s := range published {
		generation[s.Spec.Pool.Name] = max(generation[s.Spec.Pool.Name], s.Spec.Pool.Generation)
	}
	plain = true
	for _, s := range published {
		if s.Spec.Pool.Generation < generation[s.Spec.Pool.Name] {
			continue
		}
		count[s.Spec.Pool.Name]++
		for _, d := range s.Spec.Devices {
			plain = plain && len(d.ConsumesCounters) == 0 && len(d.Taints) == 0
			devices = append(devices, d)
		}
	}
	for _, s := range published {
		if s.Spec.Pool.Generation == generation[s.Spec.Pool.Name] {
			plain = plain && count[s.Spec.Pool.Name] == s.Spec.Pool.ResourceSliceCount
		}
	}
	return devices, plain
}

// questions are templates about what is there: the sizes and products, and sizes and products that are not.
func questions(d *profile.Driver, available []resourcev1.Device) []v1alpha1.GPUClaimTemplateSpec {
	memories := map[int64]bool{1 << 20: true, 16 * gi: true}
	products := map[string]bool{}
	for i := range available {
		if m := memoryOf(d, &available[i]); m > 1<<20 {
			memories[m], memories[m+1<<20] = true, true
		}
		if p := productOf(d, &available[i]); p != "" && d.ProductAttribute != "" {
			products[p] = true
		}
	}
	asked := []*resource.Quantity{nil}
	if _, ok := memoryKey(d); ok {
		sizes := slices.Sorted(maps.Keys(memories))
		for i, m := range sizes {
			// The least, the greatest, and some in between.
			if step := (len(sizes) + 4) / 5; i%step == 0 || i == len(sizes)-1 {
				asked = append(asked, resource.NewQuantity(m, resource.BinarySI))
			}
		}
	}
	patterns := []string{""}
	for _, p := range slices.Sorted(maps.Keys(products)) {
		patterns = append(patterns, p, "no "+p)
	}
	var out []v1alpha1.GPUClaimTemplateSpec
	for _, choice := range []v1alpha1.DeviceChoice{v1alpha1.ChoiceAny, v1alpha1.ChoiceWhole, v1alpha1.ChoicePartition, v1alpha1.ChoicePassthrough} {
		if _, ok := classFor(d, choice); !ok {
			continue
		}
		for _, m := range asked {
			for _, p := range patterns[:min(len(patterns), 3)] {
				for _, count := range []int32{1, 2} {
					out = append(out, v1alpha1.GPUClaimTemplateSpec{Driver: d.Name, Device: choice, MinMemory: m, Product: p, Count: count})
				}
			}
		}
	}
	return out
}

// fits says whether a device is what a template asks for, without any CEL.
func fits(d *profile.Driver, spec v1alpha1.GPUClaimTemplateSpec, device *resourcev1.Device) bool {
	kind := d.KindOf(textOf(d, d.TypeAttribute, device))
	return slices.Contains(claimtest.Kinds(d, spec.Device), kind) &&
		(spec.MinMemory == nil || memoryOf(d, device) >= spec.MinMemory.Value()) &&
		productMatches(spec.Product, productOf(d, device))
}

func productOf(d *profile.Driver, device *resourcev1.Device) string {
	return textOf(d, d.ProductAttribute, device)
}

func textOf(d *profile.Driver, name string, device *resourcev1.Device) string {
	if a, ok := lookup(d, name, device.Attributes); ok && a.StringValue != nil {
		return *a.StringValue
	}
	return ""
}

// memoryOf is the memory of a device in bytes, 0 when it shows none.
func memoryOf(d *profile.Driver, device *resourcev1.Device) int64 {
	if c, ok := lookup(d, d.Memory.Capacity, device.Capacity); ok {
		return c.Value.Value()
	}
	if a, ok := lookup(d, d.Memory.Attribute, device.Attributes); ok && a.IntValue != nil {
		factor, _ := d.Memory.Factor()
		return *a.IntValue * factor
	}
	return 0
}

// lookup finds a key that may be written with the driver's own domain or without.
func lookup[V any](d *profile.Driver, name string, in map[resourcev1.QualifiedName]V) (V, bool) {
	if v, ok := in[resourcev1.QualifiedName(name)]; ok && name != "" {
		return v, true
	}
	v, ok := in[resourcev1.QualifiedName(d.DriverName+"/"+name)]
	return v, ok && name != ""
}

// rung is the step of the ladder of windows that a size is on.
func rung(size int64, least resource.Quantity) int {
	for i := range windowCount {
		if size < least.Value()<<(i+1) {
			return i
		}
	}
	return windowCount
}
