package reservation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPatchesHoldOnlyWhatChanges(t *testing.T) {
	input := applying(t, block("Static", "cpu", "2000m", "memory", "4Gi"))
	input.NodeGroup.ResourceVersion = "7"
	d := Decide(input)
	require.Equal(t, map[string]any{
		"metadata": map[string]any{"resourceVersion": "7", "annotations": map[string]any{AnnotationKey: d.Annotation}},
		"spec":     map[string]any{"kubelet": map[string]any{"resourceReservation": map[string]any{keyStatic: map[string]any{keyMemory: "25068Mi"}}}},
	}, d.Patch(input.NodeGroup))

	for name, tc := range map[string]struct {
		before, patch map[string]any
	}{
		"absent": {nil, nil},
		"Auto":   {block("Auto"), map[string]any{keyMode: "Auto", keyStatic: nil}},
		"empty":  {map[string]any{}, map[string]any{keyMode: nil, keyStatic: nil}},
		"unused static": {block("Auto", "cpu", "5", "pid", int64(9)), map[string]any{keyMode: "Auto",
			keyStatic: map[string]any{keyCPU: "5", keyMemory: nil, keyEphemeralStorage: nil}}},
		"a static of nothing": {map[string]any{keyMode: "Auto", keyStatic: map[string]any{}}, map[string]any{keyMode: "Auto",
			keyStatic: map[string]any{keyCPU: nil, keyMemory: nil, keyEphemeralStorage: nil}}},
	} {
		input := applying(t, tc.before)
		input.NodeGroup = apply(t, Decide(input), input.NodeGroup)
		input.Settings.Mode = ModeOff
		patch := Decide(input).Patch(input.NodeGroup)
		got := patch["spec"].(map[string]any)["kubelet"].(map[string]any)["resourceReservation"]
		if tc.patch == nil {
			require.Nil(t, got, name)
		} else {
			require.Equal(t, tc.patch, got, name)
		}
		require.Contains(t, patch["metadata"].(map[string]any)["annotations"], AnnotationKey, name)
	}
}

func TestAKeyThatSomebodyRemovedDoesNotComeBack(t *testing.T) {
	input := applying(t, block("Auto", "pid", int64(1000)))
	input.NodeGroup = apply(t, Decide(input), input.NodeGroup)
	delete(input.NodeGroup.Reservation[keyStatic].(map[string]any), "pid")
	input.Settings.Mode = ModeOff
	require.Equal(t, map[string]any{keyMode: "Auto", keyStatic: map[string]any{}}, Decide(input).Reservation)
}
