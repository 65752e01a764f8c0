package claim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

func TestObjectBelongsToItsTemplate(t *testing.T) {
	template := &v1alpha1.GPUClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "gpu-16gb-min", UID: "u-1"},
		Spec: v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", MinMemory: quantity("16Gi")}}
	spec, err := Build(template.Spec, profiles(t), Capabilities{})
	require.NoError(t, err)

	got := Object(template, "inference", spec)
	assert.Equal(t, "gpu-16gb-min", got.Name)
	assert.Equal(t, "inference", got.Namespace)
	assert.Equal(t, "gpu-16gb-min", got.Labels["gpu-dra.deckhouse.io/claim-template"])
	assert.Equal(t, Hash(spec), got.Annotations["gpu-dra.deckhouse.io/spec-hash"])
	assert.Equal(t, []metav1.OwnerReference{{APIVersion: "gpu-dra.deckhouse.io/v1alpha1", Kind: "GPUClaimTemplate",
		Name: "gpu-16gb-min", UID: "u-1", Controller: ptr.To(true)}}, got.OwnerReferences)

	got.Spec.Spec.Devices.Requests[0].Name = "changed"
	assert.Equal(t, requestName, spec.Spec.Devices.Requests[0].Name, "objects of two namespaces share nothing")

	template.UID = ""
	assert.Empty(t, Object(template, "inference", spec).OwnerReferences, "a template out of a file cannot own anything")
}

func TestHashTellsMeaningsApart(t *testing.T) {
	seen := map[string]string{}
	for name, spec := range map[string]v1alpha1.GPUClaimTemplateSpec{
		"any":      {Driver: "nvidia"},
		"whole":    {Driver: "nvidia", Device: v1alpha1.ChoiceWhole},
		"memory":   {Driver: "nvidia", MinMemory: quantity("16Gi")},
		"first":    {Driver: "nvidia", MinMemory: quantity("16Gi"), Fit: v1alpha1.FitFirst},
		"two":      {Driver: "nvidia", Count: 2},
		"root":     {Driver: "nvidia", Count: 2, SameAttribute: v1alpha1.SamePCIeRoot},
		"sharing":  {Driver: "nvidia", Sharing: &v1alpha1.Sharing{Strategy: "MPS"}},
		"selector": {Driver: "nvidia", Selectors: []string{"true"}},
	} {
		built, err := Build(spec, profiles(t), Capabilities{})
		require.NoError(t, err)
		assert.Regexp(t, "^[0-9a-f]{32}$", Hash(built))
		assert.Empty(t, seen[Hash(built)], name)
		seen[Hash(built)] = name
	}
	// What is written differently and means the same is the same.
	written, err := Build(v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Device: v1alpha1.ChoiceAny, Count: 1, MinMemory: quantity("16384Mi"), Fit: v1alpha1.FitSmallest}, profiles(t), Capabilities{})
	require.NoError(t, err)
	assert.Equal(t, "memory", seen[Hash(written)])
}
