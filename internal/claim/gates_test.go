package claim

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// gated has a strategy behind a gate, and gates of each way to be on.
func gated() *profile.Driver {
	return &profile.Driver{
		Name: "gated", DriverName: "gated.example.org", Plugin: &profile.Plugin{},
		Classes: []profile.Class{{Name: "gated.example.org", Choice: v1alpha1.ChoiceAny, Expression: `device.driver == "gated.example.org"`}},
		Gates: []profile.Gate{
			{Name: "Shares", Excludes: []string{"Cuts"}},
			{Name: "Cuts", Partitioning: "Dynamic"},
			{Name: "Passes", Passthrough: true},
			{Name: "Usual", Default: true},
		},
		Sharing: &profile.Sharing{
			APIVersion: "gated.example.org/v1", Kinds: map[v1alpha1.DeviceKind]string{v1alpha1.DeviceWhole: "Config"},
			Strategies: map[string]profile.SharingStrategy{
				"MPS":         {Kinds: []v1alpha1.DeviceKind{v1alpha1.DeviceWhole}, Gates: []string{"Shares"}},
				"TimeSlicing": {Kinds: []v1alpha1.DeviceKind{v1alpha1.DeviceWhole}},
			},
		},
	}
}

func gates(pairs ...any) settings.DriverConfig {
	out := settings.DriverConfig{FeatureGates: map[string]bool{}}
	for i := 0; i < len(pairs); i += 2 {
		out.FeatureGates[pairs[i].(string)] = pairs[i+1].(bool)
	}
	return out
}

func group(name string, edit ...func(*settings.NodeGroup)) settings.NodeGroup {
	g := settings.NodeGroup{Name: name, Drivers: []string{"gated"}, Partitioning: "None"}
	for _, e := range edit {
		e(&g)
	}
	return g
}

func dynamic(g *settings.NodeGroup)     { g.Partitioning = "Dynamic" }
func passthrough(g *settings.NodeGroup) { g.Passthrough = true }
func passive(g *settings.NodeGroup)     { g.Passive = true }

func overridden(c settings.DriverConfig) func(*settings.NodeGroup) {
	return func(g *settings.NodeGroup) { g.DriverOverrides = map[string]settings.DriverConfig{"gated": c} }
}

func TestDriverGates(t *testing.T) {
	is := func(shares, cuts, passes, usual bool) map[string]bool {
		return map[string]bool{"Shares": shares, "Cuts": cuts, "Passes": passes, "Usual": usual}
	}
	for name, c := range map[string]struct {
		driver settings.DriverConfig
		groups []settings.NodeGroup
		want   GroupGates
	}{
		"defaults":                          {want: GroupGates{"a": is(false, false, false, true)}, groups: []settings.NodeGroup{group("a")}},
		"what the group switches on":        {want: GroupGates{"a": is(false, true, false, true), "b": is(false, false, true, true)}, groups: []settings.NodeGroup{group("a", dynamic), group("b", passthrough)}},
		"the settings of the driver over":   {driver: gates("Shares", true, "Cuts", false, "Usual", false), want: GroupGates{"a": is(true, false, false, false)}, groups: []settings.NodeGroup{group("a", dynamic)}},
		"the group's own over these":        {driver: gates("Shares", true), want: GroupGates{"a": is(false, false, false, true), "b": is(true, false, false, true)}, groups: []settings.NodeGroup{group("a", overridden(gates("Shares", false))), group("b")}},
		"a gate that the profile has not":   {driver: gates("New", true), want: GroupGates{"a": {"Shares": false, "Cuts": false, "Passes": false, "Usual": true, "New": true}}, groups: []settings.NodeGroup{group("a")}},
		"groups of other drivers":           {want: GroupGates{}, groups: []settings.NodeGroup{{Name: "a", Drivers: []string{"other"}, Passive: true}}},
		"a group left to another manager":   {groups: []settings.NodeGroup{group("a"), group("b", passive)}},
		"no group at all: nothing is off":   {want: GroupGates{}},
		"two drivers in one group: its own": {want: GroupGates{"a": is(false, false, false, true)}, groups: []settings.NodeGroup{group("a", func(g *settings.NodeGroup) { g.Drivers = []string{"other", "gated"} })}},
	} {
		t.Run(name, func(t *testing.T) {
			s := &settings.Settings{NodeGroups: c.groups, Drivers: map[string]settings.DriverConfig{"gated": c.driver, "other": gates("Shares", true)}}
			assert.Equal(t, c.want, DriverGates(s, gated()))
		})
	}
	installedOtherwise := gated()
	installedOtherwise.Plugin = nil
	assert.Nil(t, DriverGates(&settings.Settings{NodeGroups: []settings.NodeGroup{group("a")}}, installedOtherwise))
	assert.Nil(t, DriverGates(nil, gated()))
}

// What the scheduler cannot know: a claim whose sharing the driver refuses gets a device, and its pod never starts.
func TestSharingThatNoGroupHas(t *testing.T) {
	const set = "Set drivers.gated.featureGates.Shares: true, or remove spec.sharing."
	for name, c := range map[string]struct {
		strategy string
		groups   []settings.NodeGroup
		driver   settings.DriverConfig
		status   metav1.ConditionStatus
		says     []string
		not      string
	}{
		"off everywhere": {groups: []settings.NodeGroup{group("b"), group("a")}, status: metav1.ConditionFalse,
			says: []string{"spec.sharing.strategy: MPS needs the gate Shares of driver gated, which is off in every node group that runs it: a, b.", set}},
		"excluded by what is on": {groups: []settings.NodeGroup{group("a", dynamic)}, status: metav1.ConditionFalse,
			says: []string{"off in every node group that runs it: a.", "It cannot be on together with Cuts, which is on there."}, not: "Set drivers"},
		"excluded in one of two": {groups: []settings.NodeGroup{group("a", dynamic), group("b")}, status: metav1.ConditionFalse, says: []string{set}, not: "Cuts"},
		"on":                     {groups: []settings.NodeGroup{group("a")}, driver: gates("Shares", true), status: metav1.ConditionTrue, not: "gate"},
		"on in one of two": {groups: []settings.NodeGroup{group("a"), group("b", overridden(gates("Shares", true)))}, status: metav1.ConditionTrue,
			says: []string{"A pod that lands in node group a does not start: the gate Shares that sharing needs is off there."}},
		"left to another manager":            {groups: []settings.NodeGroup{group("a", passive)}, status: metav1.ConditionTrue, not: "gate"},
		"no group: installed by other means": {status: metav1.ConditionTrue, not: "gate"},
		"a strategy that needs no gate":      {strategy: "TimeSlicing", groups: []settings.NodeGroup{group("a")}, status: metav1.ConditionTrue, not: "gate"},
		"no sharing":                         {strategy: "-", groups: []settings.NodeGroup{group("a")}, status: metav1.ConditionTrue, not: "gate"},
	} {
		t.Run(name, func(t *testing.T) {
			d := gated()
			spec := v1alpha1.GPUClaimTemplateSpec{Driver: "gated", Sharing: &v1alpha1.Sharing{Strategy: "MPS"}}
			if c.strategy != "" {
				spec.Sharing.Strategy = c.strategy
			}
			if c.strategy == "-" {
				spec.Sharing = nil
			}
			set, err := profile.NewSet(*d)
			require.NoError(t, err)
			_, err = Build(spec, set, Capabilities{})
			require.NoError(t, err, "the template itself is in order")
			s := &settings.Settings{NodeGroups: c.groups, Drivers: map[string]settings.DriverConfig{"gated": c.driver}}
			devices := []v1alpha1.DeviceGroup{{Driver: "gated.example.org", Kind: v1alpha1.DeviceWhole, Count: 2}}
			got := Satisfiable(spec, devices, d, DriverGates(s, d))
			assert.Equal(t, c.status, got.Status, got.Message)
			if c.status == metav1.ConditionFalse {
				assert.Equal(t, condition.TemplateSharingOff, got.Reason)
			}
			for _, s := range c.says {
				assert.Contains(t, got.Message, s)
			}
			if c.not != "" {
				assert.NotContains(t, got.Message, c.not)
			}
		})
	}
}

// A driver whose gates nobody wrote down may have any of them on.
func TestUnknownGatesAreNotOff(t *testing.T) {
	d := gated()
	d.Gates = nil
	spec := v1alpha1.GPUClaimTemplateSpec{Driver: "gated", Sharing: &v1alpha1.Sharing{Strategy: "MPS"}}
	s := &settings.Settings{NodeGroups: []settings.NodeGroup{group("a")}}
	assert.Empty(t, sharingOff(spec, d, DriverGates(s, d)))
	s.Drivers = map[string]settings.DriverConfig{"gated": gates("Shares", false)}
	assert.NotEmpty(t, sharingOff(spec, d, DriverGates(s, d)), "off by the settings")
}
