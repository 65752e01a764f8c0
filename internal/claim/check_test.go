package claim

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-dra/gpu-dra/internal/condition"
)

func TestCheckNamesEverySelectorTheServerWouldRefuse(t *testing.T) {
	var spec resourcev1.ResourceClaimTemplateSpec
	spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{
		{Name: "a", Exactly: &resourcev1.ExactDeviceRequest{Selectors: []resourcev1.DeviceSelector{
			selector(`device.driver == "x"`),
			selector(`device.driver = "x"`),
		}}},
		{Name: "b", FirstAvailable: []resourcev1.DeviceSubRequest{
			{Name: "1", Selectors: []resourcev1.DeviceSelector{selector(`true`)}},
			{Name: "2", Selectors: []resourcev1.DeviceSelector{
				{},
				selector(`device.capacity["d"].memory >= quantity("16Gi")`),
				selector(strings.Repeat(" ", 10*1024) + "1"),
				selector(`device.attributes["d"].all(x, device.attributes["d"].all(y, device.attributes["d"].all(z, device.attributes["d"].all(w, x + y + z + w != ""))))`),
			}},
		}},
	}
	var got Errors
	require.ErrorAs(t, Check(spec), &got)
	want := []struct{ field, says string }{
		{"spec.devices.requests[0].exactly.selectors[1].cel.expression", "line 1, column 15: Syntax error"},
		{"spec.devices.requests[1].firstAvailable[1].selectors[0].cel.expression", "is missing"},
		{"spec.devices.requests[1].firstAvailable[1].selectors[1].cel.expression", "line 1, column 29: found no matching overload for '_>=_'"},
		{"spec.devices.requests[1].firstAvailable[1].selectors[2].cel.expression", "has 10241 bytes, at most 10240"},
		{"spec.devices.requests[1].firstAvailable[1].selectors[3].cel.expression", "too complex: its estimated cost"},
	}
	require.Len(t, got, len(want), "%v", got)
	for i, w := range want {
		assert.Equal(t, w.field, got[i].Field)
		assert.Contains(t, got[i].Message, w.says)
		assert.NotContains(t, got[i].Message, "\n", "a condition is one line")
		assert.Equal(t, condition.TemplateCELError, got[i].Reason)
	}
}

// What a feature gate of the cluster may allow is for the cluster to say.
func TestCheckAllowsWhatAGateMayAllow(t *testing.T) {
	var spec resourcev1.ResourceClaimTemplateSpec
	spec.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Exactly: &resourcev1.ExactDeviceRequest{Selectors: []resourcev1.DeviceSelector{
		selector(`!device.allowMultipleAllocations`),
		selector(`device.attributes["d"].nodes.exists(n, n == 1)`),
	}}}}
	assert.NoError(t, Check(spec))
}
