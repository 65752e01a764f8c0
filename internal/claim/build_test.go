package claim

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// Each file holds what a person writes and, after a line of ---, what the scheduler is told.
func TestBuildSaysWhatIsMeant(t *testing.T) {
	files, err := filepath.Glob("testdata/build/*.yaml")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			meant, said, ok := bytes.Cut(data, []byte("\n---\n"))
			require.True(t, ok)
			var spec v1alpha1.GPUClaimTemplateSpec
			require.NoError(t, yaml.UnmarshalStrict(meant, &spec))
			var want resourcev1.ResourceClaimTemplateSpec
			require.NoError(t, yaml.UnmarshalStrict(said, &want))

			got, err := Build(spec, profiles(t), Capabilities{})
			require.NoError(t, err)
			if diff := cmp.Diff(plain(t, want), plain(t, got)); diff != "" {
				t.Errorf("expected (-) and built (+) differ:\n%s", diff)
			}
			assert.NoError(t, Check(got), "the API server would refuse it")
		})
	}
}

// plain makes opaque parameters comparable whatever the order of their keys.
func plain(t *testing.T, spec resourcev1.ResourceClaimTemplateSpec) (out map[string]any) {
	t.Helper()
	data, err := json.Marshal(spec)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &out))
	return out
}

func TestBuildWithoutPrioritizedListAsksForTheMinimumOnly(t *testing.T) {
	spec := v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", MinMemory: quantity("16Gi")}
	smallest, err := Build(spec, profiles(t), Capabilities{NoPrioritizedList: true})
	require.NoError(t, err)
	spec.Fit = v1alpha1.FitFirst
	first, err := Build(spec, profiles(t), Capabilities{})
	require.NoError(t, err)
	assert.Equal(t, first, smallest)
	assert.NotEmpty(t, smallest.Spec.Devices.Requests[0].Exactly.Selectors)
}

func TestBuildIsTheSameEveryTime(t *testing.T) {
	spec := v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", MinMemory: quantity("16Gi"), Sharing: &v1alpha1.Sharing{
		Strategy: "MPS", ActiveThreadPercentage: ptr.To(int32(20)), PinnedMemoryLimit: quantity("1Gi"),
	}}
	first, err := Build(spec, profiles(t), Capabilities{})
	require.NoError(t, err)
	for range 20 {
		again, err := Build(spec, profiles(t), Capabilities{})
		require.NoError(t, err)
		require.Equal(t, Hash(first), Hash(again))
	}
}

func TestBuildRefuses(t *testing.T) {
	type wrong struct{ reason, field, says string }
	invalid := func(field, says string) wrong { return wrong{condition.TemplateInvalid, field, says} }
	unsupported := func(field, says string) wrong { return wrong{condition.TemplateUnsupported, field, says} }
	for name, c := range map[string]struct {
		spec v1alpha1.GPUClaimTemplateSpec
		want []wrong
	}{
		"no driver":        {v1alpha1.GPUClaimTemplateSpec{}, []wrong{invalid("spec.driver", "is empty")}},
		"unknown driver":   {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidea"}, []wrong{{condition.TemplateUnknownDriver, "spec.driver", `"nvidea"; known: amd, ascend, bare, broken, example, `}}},
		"zero memory":      {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", MinMemory: quantity("0")}, []wrong{invalid("spec.minMemory", "is 0; it must be more than 0")}},
		"negative memory":  {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", MinMemory: quantity("-8Ei")}, []wrong{invalid("spec.minMemory", "must be more than 0")}},
		"no unit":          {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", MinMemory: quantity("16384")}, []wrong{invalid("spec.minMemory", "is 16384, which is less than 1Mi of bytes; give the unit")}},
		"m is no megabyte": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", MinMemory: quantity("16000m")}, []wrong{invalid("spec.minMemory", "less than 1Mi")}},
		"smallest of what": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Fit: v1alpha1.FitSmallest}, []wrong{invalid("spec.fit", "needs spec.minMemory")}},
		"words": {v1alpha1.GPUClaimTemplateSpec{Driver: "example", Device: "any", Fit: "Best", SameAttribute: "Rack", Count: 33}, []wrong{
			invalid("spec.device", `is "any"; expected one of Any, Whole, Partition, Passthrough`),
			invalid("spec.fit", `is "Best"; expected one of Smallest, First`),
			invalid("spec.sameAttribute", `is "Rack"; expected one of PCIeRoot, NUMANode`),
			invalid("spec.count", "is 33; a claim has 1 to 32 devices"),
			unsupported("spec.device", "has no DeviceClass for any; it has one for: Any"),
			unsupported("spec.sameAttribute", "does not publish Rack; it publishes: none"),
		}},
		"long product":   {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Product: strings.Repeat("é", 33)}, []wrong{invalid("spec.product", "has 66 bytes")}},
		"broken product": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Product: "\xff"}, []wrong{invalid("spec.product", "is text")}},
		"too many selectors": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Selectors: slices.Repeat([]string{"true"}, 17)}, []wrong{
			invalid("spec.selectors", "has 17 entries, at most 16")}},
		"selector with a typo": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Selectors: []string{"true", "true &&\n  devce.driver == 'x'"}}, []wrong{
			{condition.TemplateCELError, "spec.selectors[1]", "line 2, column 3: undeclared reference to 'devce'"}}},
		"memory compared as a number": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Selectors: []string{`device.capacity["gpu.nvidia.com"].memory >= 16384`}}, []wrong{
			{condition.TemplateCELError, "spec.selectors[0]", "line 1, column 42: found no matching overload for '_>=_'"}}},
		"selector of a string": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Selectors: []string{"device.driver"}}, []wrong{
			{condition.TemplateCELError, "spec.selectors[0]", "must evaluate to bool"}}},
		"no class":          {v1alpha1.GPUClaimTemplateSpec{Driver: "example", Device: v1alpha1.ChoicePartition}, []wrong{unsupported("spec.device", "has no DeviceClass for Partition; it has one for: Any")}},
		"class is broken":   {v1alpha1.GPUClaimTemplateSpec{Driver: "broken"}, []wrong{unsupported("spec.driver", `DeviceClass "broken.example.org": its CEL expression does not compile: line 1, column 15`)}},
		"no memory":         {v1alpha1.GPUClaimTemplateSpec{Driver: "bare", MinMemory: quantity("1Gi")}, []wrong{unsupported("spec.minMemory", `driver "bare" publishes no memory`)}},
		"no product":        {v1alpha1.GPUClaimTemplateSpec{Driver: "bare", Product: "X*"}, []wrong{unsupported("spec.product", "publishes no product name")}},
		"no topology":       {v1alpha1.GPUClaimTemplateSpec{Driver: "example", Count: 2, SameAttribute: v1alpha1.SameNUMANode}, []wrong{unsupported("spec.sameAttribute", "does not publish NUMANode; it publishes: none")}},
		"no sharing":        {v1alpha1.GPUClaimTemplateSpec{Driver: "example", Sharing: &v1alpha1.Sharing{Strategy: "MPS"}}, []wrong{unsupported("spec.sharing.strategy", "cannot share a device")}},
		"no strategy named": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Sharing: &v1alpha1.Sharing{}}, []wrong{invalid("spec.sharing.strategy", "is empty")}},
		"unknown strategy":  {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Sharing: &v1alpha1.Sharing{Strategy: "vGPU"}}, []wrong{unsupported("spec.sharing.strategy", `no strategy "vGPU"; it has: MPS, TimeSlicing`)}},
		"partitions have no time slices": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Sharing: &v1alpha1.Sharing{Strategy: "TimeSlicing"}}, []wrong{
			unsupported("spec.sharing.strategy", "is for: Whole; spec.device: Any may also give: Partition")}},
		"virtual machines share nothing": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Device: v1alpha1.ChoicePassthrough, Sharing: &v1alpha1.Sharing{Strategy: "MPS"}}, []wrong{
			unsupported("spec.sharing.strategy", "is for: Whole, Partition; spec.device: Passthrough may also give: Passthrough")}},
		"numbers of another strategy": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Device: v1alpha1.ChoiceWhole, Sharing: &v1alpha1.Sharing{Strategy: "MPS", Interval: "Long"}}, []wrong{
			unsupported("spec.sharing.interval", "strategy MPS of driver \"nvidia\" has no such setting")}},
		"numbers out of range": {v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Sharing: &v1alpha1.Sharing{
			Strategy: "MPS", ActiveThreadPercentage: ptr.To(int32(101)), PinnedMemoryLimit: quantity("10")}}, []wrong{
			invalid("spec.sharing.activeThreadPercentage", "is 101; expected 1 to 100"),
			invalid("spec.sharing.pinnedMemoryLimit", "is 10; expected at least 1Mi")}},
	} {
		t.Run(name, func(t *testing.T) {
			built, err := Build(c.spec, profiles(t), Capabilities{})
			assert.Zero(t, built, "nothing half built")
			var got Errors
			require.ErrorAs(t, err, &got)
			require.Len(t, got, len(c.want), "%v", err)
			for i, w := range c.want {
				assert.Equal(t, w.field, got[i].Field)
				assert.Equal(t, w.reason, got[i].Reason, got[i].Field)
				assert.Contains(t, got[i].Message, w.says)
			}
			assert.Equal(t, c.want[0].reason, reasonOf(err))
		})
	}
}
