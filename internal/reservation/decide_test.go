package reservation

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func block(mode string, static ...any) map[string]any {
	out := map[string]any{keyMode: mode}
	if len(static) > 0 {
		s := map[string]any{}
		for i := 0; i < len(static); i += 2 {
			s[static[i].(string)] = static[i+1]
		}
		out[keyStatic] = s
	}
	return out
}

// applying is a group of two nodes with 2 TiB and 8 cards each, in mode Apply.
func applying(t *testing.T, reservation map[string]any) Input {
	p, s := platform(t, tieredSpec), in(defaults(t), ModeApply)
	return Input{Settings: s, Platform: p, NodeGroup: NodeGroup{Name: "gpu", Reservation: reservation},
		Result: Compute(p, s, []Node{node(p, "a", 2048*gibi, 8), node(p, "b", 2048*gibi, 8)})}
}

func TestApplyAndRestore(t *testing.T) {
	input := applying(t, block("Auto"))
	d := Decide(input)
	require.Equal(t, Write, d.Action)
	require.Equal(t, ReasonApplying, d.Reason)
	require.Equal(t, block("Static", "cpu", "70m", "memory", "25068Mi", "ephemeralStorage", "1Gi"), d.Reservation)
	require.JSONEq(t, `{"before": {"mode": "Auto"}, "written": {"mode": "Static", "static": {"cpu": "70m", "memory": "25068Mi", "ephemeralStorage": "1Gi"}},
		"figures": "systemNeed=4Gi base=479Mi perDevice=30Mi overhead=1.1 minDevices=8"}`, d.Annotation)
	require.Contains(t, d.Message, `NodeGroup gpu: spec.kubelet.resourceReservation becomes {"mode":"Static","static":{"cpu":"70m"`)
	require.Contains(t, d.Message, "node a: systemNeed decides")
	require.Contains(t, d.Message, "every kubelet of the group restarts")

	input.NodeGroup = apply(t, d, input.NodeGroup)
	d = Decide(input)
	require.Equal(t, LeaveAlone, d.Action)
	require.Equal(t, ReasonApplied, d.Reason)

	input.Settings.Mode = ModeAdvise
	d = Decide(input)
	require.Equal(t, Restore, d.Action)
	require.Equal(t, block("Auto"), d.Reservation)
	require.Contains(t, d.Message, `goes back to {"mode":"Auto"}, as it was before gpu-dra wrote it (mode Advise); every kubelet of the group restarts`)
	input.NodeGroup = apply(t, d, input.NodeGroup)
	require.Equal(t, NodeGroup{Name: "gpu", Reservation: block("Auto")}, input.NodeGroup)
	require.Equal(t, ReasonAdvise, Decide(input).Reason)
}

func TestAdviceSaysWhatApplyWouldDo(t *testing.T) {
	input := applying(t, block("Auto"))
	input.Settings.Mode = ModeAdvise
	d := Decide(input)
	require.Equal(t, LeaveAlone, d.Action)
	require.Contains(t, d.Message, `NodeGroup gpu: nothing is written in mode Advise; in mode Apply spec.kubelet.resourceReservation becomes {"mode":"Static"`)
	require.Contains(t, d.Message, "every kubelet of the group restarts")
	input.NodeGroup.Reservation = block("Off")
	require.Contains(t, Decide(input).Message, "nor would be in mode Apply: spec.kubelet.resourceReservation.mode is Off")
	input.Refusal = &Refusal{ReasonPartOfNodeGroup, "some nodes"}
	d = Decide(input)
	require.Equal(t, ReasonAdvise, d.Reason)
	require.Contains(t, d.Message, "nor would be in mode Apply: some nodes")
	input.Settings.Mode = ModeOff
	require.Equal(t, ReasonOff, Decide(input).Reason)
}

func TestOverASmallerStaticOnlyMemoryIsWritten(t *testing.T) {
	input := applying(t, block("Static", "cpu", int64(2), "memory", "4Gi"))
	d := Decide(input)
	require.Equal(t, Write, d.Action)
	require.Equal(t, block("Static", "cpu", int64(2), "memory", "25068Mi"), d.Reservation)

	input.NodeGroup = apply(t, d, input.NodeGroup)
	input.NodeGroup.Reservation[keyStatic].(map[string]any)[keyCPU] = "3000m"
	require.Equal(t, ReasonApplied, Decide(input).Reason, "their CPU is none of our business")
	input.Settings.Mode = ModeOff
	require.Equal(t, block("Static", "cpu", "3000m", "memory", "4Gi"), Decide(input).Reservation)
}

func TestLeftAlone(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*Input)
		reason string
		says   string
	}{
		"off":                 {func(i *Input) { i.NodeGroup.Reservation = block("Off") }, ReasonReservationOff, "mode is Off, and stays so"},
		"a larger static":     {func(i *Input) { i.NodeGroup.Reservation = block("Static", "memory", "32Gi") }, ReasonLargerFound, "static.memory is 32768Mi, and 25068Mi are recommended"},
		"just as much":        {func(i *Input) { i.NodeGroup.Reservation = block("Static", "memory", int64(25068)*mebi) }, ReasonLargerFound, "25068Mi"},
		"topology manager":    {func(i *Input) { i.NodeGroup.TopologyManager = true }, ReasonTopologyManager, "topologyManager.enabled is true"},
		"percentages":         {func(i *Input) { i.NodeGroup.Reservation = block("Static", "memory", "5%") }, ReasonUnreadable, `static.memory: found "5%", expected a quantity such as 24Gi`},
		"unknown mode":        {func(i *Input) { i.NodeGroup.Reservation = block("Percent") }, ReasonUnreadable, `mode: found "Percent", expected Off, Auto or Static`},
		"no object":           {func(i *Input) { i.NodeGroup.Reservation = map[string]any{keyStatic: "x"} }, ReasonUnreadable, `static: found "x", expected an object`},
		"bad annotation":      {func(i *Input) { i.NodeGroup.Annotation = "{" }, ReasonBadAnnotation, "gpu-dra.deckhouse.io/memory-reservation can't be read (unexpected end of JSON input)"},
		"an empty annotation": {func(i *Input) { i.NodeGroup.Annotation = "{}" }, ReasonBadAnnotation, "written: found no static memory"},
		"no nodes":            {func(i *Input) { i.Result = Compute(i.Platform, i.Settings, nil) }, ReasonFactsUnknown, "the group has no node yet"},
		"less than Auto, few cards": {func(i *Input) {
			i.NodeGroup.Reservation = block("Static", "memory", "1Gi")
			i.nodes(node(i.Platform, "a", 64*gibi, 4))
		}, ReasonBelowPlatform, "static.memory is 1024Mi, less than the 1815Mi that Auto reserves on node a: set spec.kubelet.resourceReservation.mode to Auto"},
		"hardly less than Auto, few cards": {func(i *Input) {
			i.NodeGroup.Reservation = block("Static", "memory", "1600Mi")
			i.nodes(node(i.Platform, "a", 64*gibi, 4))
		}, ReasonPlatformSuffices, "the platform's own 1815Mi are recommended"},
		"refused":   {func(i *Input) { i.Refusal = &Refusal{ReasonPartOfNodeGroup, "some nodes"} }, ReasonPartOfNodeGroup, "NodeGroup gpu: some nodes"},
		"few cards": {func(i *Input) { i.nodes(node(i.Platform, "a", 64*gibi, 4)) }, ReasonPlatformSuffices, "4 cards are fewer than minDevices"},
		"a node without memory": {func(i *Input) { i.nodes(node(i.Platform, "a", 2048*gibi, 8), Node{Name: "b", Cards: 8}) }, ReasonFactsUnknown,
			"the memory of node b is not known"},
		"unlike nodes": {func(i *Input) { i.nodes(node(i.Platform, "a", 2048*gibi, 8), node(i.Platform, "b", 1024*gibi, 8)) }, ReasonNodesDiffer,
			"node a needs 25068Mi and node b 14582Mi, more than 25 % apart"},
		"too large": {func(i *Input) { i.nodes(node(i.Platform, "a", 32*gibi, 8)) }, ReasonTooLarge,
			"4424Mi are more than 10 % of the memory of node a (32768Mi)"},
		"too large for a node without cards": {func(i *Input) { i.nodes(node(i.Platform, "a", 2048*gibi, 8), node(i.Platform, "new", 64*gibi, 0)) }, ReasonTooLarge, "node new (65536Mi)"},
		"the platform reserves more on a node without cards": {func(i *Input) {
			i.nodes(node(i.Platform, "a", 2048*gibi, 8), node(i.Platform, "cpu", 4096*gibi, 0))
		}, ReasonNodesDiffer, "the platform reserves 43704Mi on node cpu by itself, more than the 25068Mi recommended for the nodes with cards"},
		"a node configured by other means": {func(i *Input) {
			n := node(i.Platform, "b", 2048*gibi, 8)
			n.Memory = memory(i.Platform, 2048*gibi, 40*gibi)
			i.nodes(node(i.Platform, "a", 2048*gibi, 8), n)
		}, ReasonLargerFound, "the kubelet of node b already reserves 40960Mi"},
	} {
		input := applying(t, block("Auto"))
		tc.change(&input)
		d := Decide(input)
		require.Equal(t, LeaveAlone, d.Action, name)
		require.Equal(t, tc.reason, d.Reason, name)
		require.Contains(t, d.Message, tc.says, name)
	}
}

func (in *Input) nodes(nodes ...Node) { in.Result = Compute(in.Platform, in.Settings, nodes) }

func TestNodesThatDifferALittle(t *testing.T) {
	input := applying(t, nil)
	input.nodes(node(input.Platform, "a", 2048*gibi, 8), node(input.Platform, "b", 1536*gibi, 8))
	require.Equal(t, Write, Decide(input).Action, "20 %% apart")
	require.Equal(t, "25068Mi", Decide(input).Reservation[keyStatic].(map[string]any)[keyMemory], "the largest need is written")
}

func TestATenthOfTheSmallestNode(t *testing.T) {
	input := applying(t, nil)
	input.nodes(node(input.Platform, "a", 44*gibi, 8))
	require.Equal(t, ReasonTooLarge, Decide(input).Reason, "4547Mi of 45056Mi")
	input.nodes(node(input.Platform, "a", 45*gibi, 8))
	require.Equal(t, Write, Decide(input).Action, "4557Mi of 46080Mi")
}

func TestBackingOff(t *testing.T) {
	input := applying(t, block("Auto"))
	input.NodeGroup = apply(t, Decide(input), input.NodeGroup)
	annotation := input.NodeGroup.Annotation
	for name, found := range map[string]map[string]any{
		"back to Auto": block("Auto"), "off": block("Off"), "absent": nil,
		"other memory": block("Static", "cpu", "70m", "memory", "30Gi", "ephemeralStorage", "1Gi"),
		"other CPU":    block("Static", "cpu", "1", "memory", "25068Mi", "ephemeralStorage", "1Gi"),
		"less of it":   block("Static", "memory", "25068Mi"),
	} {
		input.NodeGroup.Reservation, input.Settings.Mode = found, ModeApply
		input.nodes(node(input.Platform, "a", 4096*gibi, 16))
		d := Decide(input)
		require.Equal(t, LeaveAlone, d.Action, name)
		require.Equal(t, ReasonChangedByOthers, d.Reason, name)
		require.Contains(t, d.Message, "remove the annotation "+AnnotationKey, name)

		input.Settings.Mode = ModeOff
		d = Decide(input)
		require.Equal(t, Forget, d.Action, name)
		require.Equal(t, map[string]any{"metadata": map[string]any{"annotations": map[string]any{AnnotationKey: nil}}}, d.Patch(input.NodeGroup), name)
	}

	input.NodeGroup.Reservation, input.Settings.Mode = block("Static", "cpu", 0.07, "memory", int64(25068)*mebi, "ephemeralStorage", "1024Mi"), ModeApply
	input.nodes(node(input.Platform, "a", 2048*gibi, 8))
	require.Equal(t, ReasonApplied, Decide(input).Reason, "the same amounts, written otherwise")
	require.Equal(t, annotation, input.NodeGroup.Annotation)
}

const onlyAnnotation = "only the annotation is written"

func TestWhatIsWrittenAgain(t *testing.T) {
	written := applying(t, block("Auto"))
	written.NodeGroup = apply(t, Decide(written), written.NodeGroup)
	for name, tc := range map[string]struct {
		change func(*Input)
		action Action
		reason string
		says   string
	}{
		"a little more": {func(i *Input) { i.nodes(node(i.Platform, "a", 2072*gibi, 8)) }, LeaveAlone, ReasonKept, "25068Mi of memory stay reserved, and 25314Mi are recommended"},
		"more":          {func(i *Input) { i.nodes(node(i.Platform, "a", 2080*gibi, 8)) }, Write, ReasonApplying, `"memory":"25396Mi"`},
		"less":          {func(i *Input) { i.nodes(node(i.Platform, "a", 512*gibi, 8)) }, LeaveAlone, ReasonKept, "25068Mi of memory stay reserved"},
		"less, and too much for it": {func(i *Input) { i.nodes(node(i.Platform, "a", 128*gibi, 8)) }, LeaveAlone, ReasonKept,
			"mind that it is more than 10 % of the memory of node a (131072Mi)"},
		"the platform would reserve more on a node without cards": {func(i *Input) {
			i.nodes(node(i.Platform, "a", 2048*gibi, 8), node(i.Platform, "cpu", 4096*gibi, 0))
		}, LeaveAlone, ReasonApplied, "mind that the platform by itself would reserve 43704Mi on node cpu: move it to another group"},
		"too few cards":                    {func(i *Input) { i.nodes(node(i.Platform, "a", 2048*gibi, 4)) }, LeaveAlone, ReasonKept, "22732Mi are recommended"},
		"the platform reserves more there": {func(i *Input) { i.nodes(node(i.Platform, "a", 4096*gibi, 4)) }, Write, ReasonApplying, `"memory":"43704Mi"`},
		"nothing known":                    {func(i *Input) { i.nodes() }, LeaveAlone, ReasonFactsUnknown, "25068Mi of memory stay reserved: the group has no node yet"},
		"unlike nodes":                     {func(i *Input) { i.nodes(node(i.Platform, "a", 4096*gibi, 8), node(i.Platform, "b", 512*gibi, 8)) }, LeaveAlone, ReasonNodesDiffer, ""},
		"a smaller need is set, and the nodes became unlike": {func(i *Input) {
			i.Settings.SystemNeed = quantity("2Gi")
			i.nodes(node(i.Platform, "a", 2048*gibi, 8), node(i.Platform, "b", 128*gibi, 8), Node{Name: "c", Cards: 8})
		}, Write, ReasonApplying, `"memory":"23564Mi"`},
		"a smaller need is set":   {func(i *Input) { i.Settings.SystemNeed = quantity("2Gi"); i.nodes(node(i.Platform, "a", 2048*gibi, 8)) }, Write, ReasonApplying, `"memory":"23564Mi"`},
		"more cards are asked":    {func(i *Input) { i.Settings.MinDevices = 16; i.nodes(node(i.Platform, "a", 2048*gibi, 8)) }, Restore, ReasonRestoring, "with the present settings it is enough"},
		"settings without effect": {func(i *Input) { i.Settings.PerDevice = quantity("31Mi"); i.nodes(node(i.Platform, "a", 2048*gibi, 8)) }, Write, ReasonApplying, onlyAnnotation},
		"topology manager":        {func(i *Input) { i.NodeGroup.TopologyManager = true; i.nodes(node(i.Platform, "a", 4096*gibi, 8)) }, LeaveAlone, ReasonTopologyManager, "what gpu-dra wrote stays"},
		"refused": {func(i *Input) {
			i.Refusal = &Refusal{ReasonPartOfNodeGroup, "some nodes"}
			i.nodes(node(i.Platform, "a", 4096*gibi, 8))
		}, LeaveAlone, ReasonPartOfNodeGroup, "25068Mi of memory stay reserved: some nodes"},
		"refused, off":           {func(i *Input) { i.Refusal, i.Settings.Mode = &Refusal{ReasonPartOfNodeGroup, "some nodes"}, ModeOff }, Restore, ReasonRestoring, "(mode Off)"},
		"off for another reason": {func(i *Input) { i.Why, i.Settings.Mode = "the module is switched off", ModeOff }, Restore, ReasonRestoring, "(the module is switched off)"},
		"topology manager, off":  {func(i *Input) { i.NodeGroup.TopologyManager, i.Settings.Mode = true, ModeOff }, LeaveAlone, ReasonTopologyManager, "put it back by hand"},
	} {
		input := written
		tc.change(&input)
		d := Decide(input)
		require.Equal(t, tc.action, d.Action, "%s: %s", name, d.Message)
		require.Equal(t, tc.reason, d.Reason, name)
		require.Contains(t, d.Message, tc.says, name)
		if tc.says == onlyAnnotation {
			require.NotContains(t, d.Patch(input.NodeGroup), "spec", name)
			require.NotContains(t, d.Message, "restarts", name)
		}
	}
}
