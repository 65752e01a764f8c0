package claim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

func TestSatisfiable(t *testing.T) {
	h100 := v1alpha1.DeviceGroup{Driver: "gpu.nvidia.com", Kind: v1alpha1.DeviceWhole, Product: "NVIDIA H100 80GB HBM3", Memory: quantity("81559Mi"), Count: 8}
	mig := v1alpha1.DeviceGroup{Driver: "gpu.nvidia.com", Kind: v1alpha1.DevicePartition, Product: "NVIDIA H100 80GB HBM3", Partition: "1g.20gb", Memory: quantity("20096Mi"), Count: 4}
	t4 := v1alpha1.DeviceGroup{Driver: "gpu.nvidia.com", Kind: v1alpha1.DeviceWhole, Product: "Tesla T4", Memory: quantity("15Gi"), Count: 2}
	tiny := v1alpha1.DeviceGroup{Driver: "gpu.nvidia.com", Kind: v1alpha1.DevicePartition, Product: "NVIDIA A2", Memory: quantity("896Mi"), Count: 2}
	unified := v1alpha1.DeviceGroup{Driver: "gpu.nvidia.com", Kind: v1alpha1.DeviceWhole, Product: "NVIDIA GB10", Count: 1}
	vfio := v1alpha1.DeviceGroup{Driver: "gpu.nvidia.com", Kind: v1alpha1.DevicePassthrough, Product: "NVIDIA A16", Count: 4}
	npu := v1alpha1.DeviceGroup{Driver: "npu.example.org", Kind: v1alpha1.DeviceWhole, Memory: quantity("64Gi"), Count: 8}
	sick := h100
	sick.Tainted = 7
	groups := func(g ...v1alpha1.DeviceGroup) []v1alpha1.DeviceGroup { return g }

	const yes, no, unknown = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, c := range map[string]struct {
		spec    v1alpha1.GPUClaimTemplateSpec
		devices []v1alpha1.DeviceGroup
		status  metav1.ConditionStatus
		reason  string
		says    []string
	}{
		"nothing there":     {v1alpha1.GPUClaimTemplateSpec{}, nil, unknown, condition.TemplateNoDevicesYet, []string{"No device of driver gpu.nvidia.com"}},
		"other drivers":     {v1alpha1.GPUClaimTemplateSpec{}, groups(npu), unknown, condition.TemplateNoDevicesYet, nil},
		"fits":              {v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("16Gi")}, groups(h100, mig, t4), yes, condition.TemplateSatisfiable, []string{"12 devices match: NVIDIA H100 80GB HBM3, NVIDIA H100 80GB HBM3 1g.20gb."}},
		"nominal":           {v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("80Gi")}, groups(t4, h100, mig), no, condition.TemplateNominalMemory, []string{"80Gi is asked for", "NVIDIA H100 80GB HBM3, shows 79.6Gi", "sold by", "minMemory: 79Gi matches it"}},
		"nominal, even":     {v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("16Gi")}, groups(t4), no, condition.TemplateNominalMemory, []string{"shows 15Gi", "minMemory: 15Gi matches"}},
		"far too large":     {v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("96Gi")}, groups(h100), no, condition.TemplateNoDevice, []string{"96Gi is asked for", "shows 79.6Gi", "minMemory: 79Gi matches"}},
		"small partitions":  {v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoicePartition, MinMemory: quantity("2Gi")}, groups(h100, tiny), no, condition.TemplateNoDevice, []string{"shows 896Mi", "minMemory: 896Mi matches"}},
		"memory not shown":  {v1alpha1.GPUClaimTemplateSpec{MinMemory: quantity("16Gi")}, groups(unified), no, condition.TemplateNoDevice, []string{"none of the devices that match otherwise publishes memory: NVIDIA GB10"}},
		"wrong kind":        {v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoicePartition}, groups(h100, vfio), no, condition.TemplateNoDevice, []string{"Partition takes Partition; driver gpu.nvidia.com publishes only Passthrough, Whole"}},
		"any is no vfio":    {v1alpha1.GPUClaimTemplateSpec{}, groups(vfio), no, condition.TemplateNoDevice, []string{"Any takes Whole, Partition"}},
		"passthrough":       {v1alpha1.GPUClaimTemplateSpec{Device: v1alpha1.ChoicePassthrough}, groups(vfio), yes, condition.TemplateSatisfiable, nil},
		"wrong product":     {v1alpha1.GPUClaimTemplateSpec{Product: "NVIDIA L4*"}, groups(h100, t4), no, condition.TemplateNoDevice, []string{`"NVIDIA L4*" matches none of: NVIDIA H100 80GB HBM3, Tesla T4`}},
		"product's memory":  {v1alpha1.GPUClaimTemplateSpec{Product: "*T4", MinMemory: quantity("40Gi")}, groups(h100, t4), no, condition.TemplateNoDevice, []string{"Tesla T4, shows 15Gi"}},
		"too many":          {v1alpha1.GPUClaimTemplateSpec{Count: 9, Device: v1alpha1.ChoiceWhole}, groups(h100, mig), no, condition.TemplateNoDevice, []string{"9 devices in one claim, and only 8"}},
		"tainted":           {v1alpha1.GPUClaimTemplateSpec{Count: 2}, groups(sick), no, condition.TemplateNoDevice, []string{"8 devices match, of which 7 carry a taint"}},
		"one healthy left":  {v1alpha1.GPUClaimTemplateSpec{}, groups(sick), yes, condition.TemplateSatisfiable, nil},
		"selectors unasked": {v1alpha1.GPUClaimTemplateSpec{Selectors: []string{"false"}}, groups(h100), metav1.ConditionUnknown, condition.TemplateDevicesNotKnown, []string{"spec.selectors"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := Satisfiable(c.spec, c.devices, driver(t, "nvidia"), nil)
			assert.Equal(t, condition.Satisfiable, got.Type)
			assert.Equal(t, c.status, got.Status, got.Message)
			assert.Equal(t, c.reason, got.Reason, got.Message)
			for _, s := range c.says {
				assert.Contains(t, got.Message, s)
			}
		})
	}
}

// What the condition proposes is worth nothing if it does not match.
func TestSatisfiableProposesWhatMatches(t *testing.T) {
	for _, memory := range []string{"81559Mi", "15Gi", "896Mi", "1Gi", "1025Mi", "85094039552"} {
		device := v1alpha1.DeviceGroup{Driver: "gpu.nvidia.com", Kind: v1alpha1.DeviceWhole, Memory: quantity(memory), Count: 1}
		spec := v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", MinMemory: quantity(proposed(*device.Memory))}
		got := Satisfiable(spec, []v1alpha1.DeviceGroup{device}, driver(t, "nvidia"), nil)
		require.Equal(t, metav1.ConditionTrue, got.Status, "%s for %s: %s", spec.MinMemory, memory, got.Message)
		_, err := Build(spec, profiles(t), Capabilities{})
		require.NoError(t, err)
	}
}
