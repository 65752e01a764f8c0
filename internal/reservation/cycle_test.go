package reservation

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	kjson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"
)

// merge applies a JSON merge patch as an API server does (RFC 7386, section 2).
func merge(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	t, ok := target.(map[string]any)
	if !ok {
		t = map[string]any{}
	}
	for k, v := range p {
		if v == nil {
			delete(t, k)
		} else {
			t[k] = merge(t[k], v)
		}
	}
	return t
}

// apply sends a decision's patch through JSON to a node group and reads it back.
func apply(t require.TestingT, d Decision, g NodeGroup) NodeGroup {
	patch := d.Patch(g)
	if patch == nil {
		return g
	}
	object := map[string]any{"spec": map[string]any{"kubelet": map[string]any{}}}
	if g.Reservation != nil {
		object["spec"].(map[string]any)["kubelet"].(map[string]any)["resourceReservation"] = g.Reservation
	}
	if g.Annotation != "" {
		object["metadata"] = map[string]any{"annotations": map[string]any{AnnotationKey: g.Annotation}}
	}
	through := func(v any) (out any) {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, kjson.Unmarshal(data, &out))
		return out
	}
	merged := merge(through(object), through(patch)).(map[string]any)
	out := NodeGroup{Name: g.Name, TopologyManager: g.TopologyManager}
	out.Reservation, _ = merged["spec"].(map[string]any)["kubelet"].(map[string]any)["resourceReservation"].(map[string]any)
	if annotations, ok := merged["metadata"].(map[string]any)["annotations"].(map[string]any); ok {
		out.Annotation, _ = annotations[AnnotationKey].(string)
	}
	return out
}

// anyBlock draws a reservation as a person, an API server or nonsense may leave it.
func anyBlock(t *rapid.T) map[string]any {
	if rapid.IntRange(0, 9).Draw(t, "absent") == 0 {
		return nil
	}
	out := map[string]any{}
	draw := func(to map[string]any, key string, values ...any) {
		if i := rapid.IntRange(-1, len(values)-1).Draw(t, key); i >= 0 {
			to[key] = values[i]
		}
	}
	draw(out, keyMode, reservationAuto, reservationAuto, reservationStatic, reservationStatic, reservationOff, "", "auto", int64(1), []any{"Auto"}, map[string]any{})
	draw(out, "cgroup", "a", map[string]any{"deep": []any{int64(1), "x"}})
	if rapid.Bool().Draw(t, "static") {
		static := map[string]any{}
		draw(static, keyMemory, "24Gi", "1Gi", "5%", "", "-1Gi", "1e99", int64(1<<40), int64(-1), 1.5e10, 1.5, true, math.MaxFloat64)
		draw(static, keyCPU, "2000m", int64(2), "many", []any{})
		draw(static, keyEphemeralStorage, "10Gi", int64(7))
		draw(static, "pid", int64(1000))
		out[keyStatic] = static
	} else {
		draw(out, keyStatic, "x", []any{}, int64(0))
	}
	return out
}

// Scenarios of anyInput.
const (
	untouched    = "no annotation"
	standingYet  = "what we wrote stands"
	changedSince = "somebody changed it"
	nonsense     = "any annotation"
)

func anyInput(t *rapid.T, scenario string) Input {
	i := Input{Platform: anyPlatform(t), Settings: anySettings(t)}
	nodes := anyNodes(t)
	if rapid.IntRange(0, 3).Draw(t, "usual") > 0 {
		i.Platform = platform(t, tieredSpec)
		i.Settings = in(defaults(t), rapid.SampledFrom([]string{ModeOff, ModeAdvise, ModeApply, ModeApply, ModeApply}).Draw(t, "usual mode"))
		nodes = []Node{node(i.Platform, "a", rapid.Int64Range(64, 4096).Draw(t, "GiB")*gibi, rapid.Int64Range(7, 9).Draw(t, "usual cards"))}
	}
	i.Result = Compute(i.Platform, i.Settings, nodes)
	i.NodeGroup = NodeGroup{Name: "gpu", Reservation: anyBlock(t), TopologyManager: rapid.IntRange(0, 9).Draw(t, "topology") == 0}
	switch scenario {
	case standingYet, changedSince:
		now, err := read(i.NodeGroup.Reservation)
		if err != nil {
			now, i.NodeGroup.Reservation = standing{mode: reservationAuto}, nil
		}
		rec := i.newRecord(now, rapid.Int64Range(1, 40).Draw(t, "written")*gibi)
		rec.Figures = rapid.SampledFrom([]string{"", figures(i.Settings)}).Draw(t, "figures")
		i.NodeGroup.Annotation = rec.text()
		if scenario == standingYet {
			i.NodeGroup.Reservation = rec.over(i.NodeGroup.Reservation)
		}
	case nonsense:
		i.NodeGroup.Annotation = rapid.OneOf(rapid.String(), rapid.Map(rapid.Custom(anyRecord), record.text),
			rapid.SampledFrom([]string{"null", "{}", "[]", `{"written":{"mode":"Static"}}`, `{"before":1}`})).Draw(t, "annotation")
	}
	return i
}

func anyRecord(t *rapid.T) record { return record{Before: anyBlock(t), Written: anyBlock(t)} }

// Whatever is found, a decision once applied is followed by none, and is the same for the same input.
func TestDecisionsSettle(t *testing.T) {
	for scenario, expected := range map[string]Action{untouched: Write, standingYet: Restore, changedSince: Forget, nonsense: LeaveAlone} {
		seen := map[Action]int{}
		rapid.Check(t, func(t *rapid.T) {
			input := anyInput(t, scenario)
			d := Decide(input)
			seen[d.Action]++
			require.Equal(t, d, Decide(input))
			settles(t, input, d)
		})
		require.Positive(t, seen[expected], "%s: never decided to %s", scenario, expected)
	}
}

func settles(t *rapid.T, input Input, d Decision) {
	require.NotEmpty(t, d.Reason)
	require.Contains(t, d.Message, "NodeGroup gpu: ")
	require.Equal(t, d.Action == LeaveAlone, d.Patch(input.NodeGroup) == nil)

	after := input
	after.NodeGroup = apply(t, d, input.NodeGroup)
	next := Decide(after)
	require.Equal(t, LeaveAlone, next.Action, "after %v %s came %v", d.Action, d.Message, next)
	if d.Action != Write {
		return
	}
	require.Equal(t, ModeApply, input.Settings.Mode)
	require.False(t, input.NodeGroup.TopologyManager)
	require.Equal(t, ReasonApplied, next.Reason)
	now, err := read(after.NodeGroup.Reservation)
	require.NoError(t, err)
	require.Equal(t, standing{reservationStatic, input.Result.Largest.Recommended}, now)
	require.True(t, sameFields(after.NodeGroup.Reservation, input.NodeGroup.Reservation, "cgroup"), "foreign keys stay")
}

func sameFields(a, b map[string]any, key string) bool {
	_, differs := difference(map[string]any{key: a[key]}, map[string]any{key: b[key]})
	return !differs
}

// What is written comes off again without a trace, however often it was raised in between.
func TestWhatStoodBeforeComesBack(t *testing.T) {
	wrote := 0
	rapid.Check(t, func(t *rapid.T) {
		p, s := platform(t, tieredSpec), in(defaults(t), ModeApply)
		input := Input{Settings: s, Platform: p, NodeGroup: NodeGroup{Name: "gpu", Reservation: anyBlock(t)}}
		before := apply(t, Decision{Action: Forget}, input.NodeGroup)
		input.NodeGroup = before
		for range rapid.IntRange(1, 4).Draw(t, "rounds") {
			capacity := rapid.SampledFrom([]int64{128, 512, 2048}).Draw(t, "GiB") * gibi
			input.Settings.SystemNeed = Quantity(rapid.Int64Range(1, 6).Draw(t, "need") * gibi)
			input.Result = Compute(p, input.Settings, []Node{node(p, "a", capacity, 8)})
			d := Decide(input)
			if d.Action == Write {
				wrote++
			}
			input.NodeGroup = apply(t, d, input.NodeGroup)
		}
		input.Settings.Mode = rapid.SampledFrom([]string{ModeOff, ModeAdvise}).Draw(t, "mode")
		input.NodeGroup = apply(t, Decide(input), input.NodeGroup)
		require.Equal(t, before, input.NodeGroup)
	})
	require.Positive(t, wrote)
}

// A reservation goes down only when the settings change: nodes that leave, and cards that are no longer seen, lower nothing.
func TestOnlySettingsLowerIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, s := platform(t, tieredSpec), in(defaults(t), ModeApply)
		input := Input{Settings: s, Platform: p, NodeGroup: NodeGroup{Name: "gpu", Reservation: map[string]any{keyMode: reservationAuto}}}
		input.Result = Compute(p, s, []Node{node(p, "a", 2048*gibi, 8)})
		input.NodeGroup = apply(t, Decide(input), input.NodeGroup)
		reserved := int64(25068) * mebi
		for range rapid.IntRange(1, 5).Draw(t, "rounds") {
			input.Result = Compute(p, s, anyNodes(t))
			input.NodeGroup.TopologyManager = rapid.Bool().Draw(t, "topology")
			input.NodeGroup = apply(t, Decide(input), input.NodeGroup)
			now, err := read(input.NodeGroup.Reservation)
			require.NoError(t, err)
			require.GreaterOrEqual(t, now.memory, reserved)
			reserved = now.memory
		}
	})
}
