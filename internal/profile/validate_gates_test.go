package profile

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func validGates() []Gate {
	return []Gate{
		{Name: "Slices", Since: "1.1.0", Excludes: []string{"Vfio"}, Partitioning: "Dynamic"},
		{Name: "Vfio", Passthrough: true},
		{Name: "Metadata", Requires: []string{"Vfio"}},
		{Name: "Links", Default: true, Requires: []string{"Names"}},
		{Name: "Names", Default: true},
	}
}

func TestValidateNamesTheGate(t *testing.T) {
	const known = "expected another gate that the profile lists in gates"
	for name, c := range map[string]struct {
		breakIt func(d *Driver)
		want    string
	}{
		"name":             {func(d *Driver) { d.Gates[1].Name = "A=true,B" }, `gates[1].name: found "A=true,B", expected the name of a gate`},
		"no name":          {func(d *Driver) { d.Gates[2].Name = "" }, `gates[2].name: found "", expected the name of a gate`},
		"twice":            {func(d *Driver) { d.Gates[2] = Gate{Name: "Vfio"} }, `gates[2].name: found "Vfio", expected a gate that the profile does not already have`},
		"since":            {func(d *Driver) { d.Gates[0].Since = "v1.1" }, `gates[0].since: found "v1.1", expected a version of the driver such as 0.5.0`},
		"partitioning":     {func(d *Driver) { d.Gates[0].Partitioning = "None" }, `gates[0].partitioning: found "None", expected one of "", "Static", "Dynamic"`},
		"excludes unknown": {func(d *Driver) { d.Gates[0].Excludes[0] = "Vfi" }, `gates[0].excludes[0]: found "Vfi", ` + known},
		"excludes itself":  {func(d *Driver) { d.Gates[0].Excludes[0] = "Slices" }, `gates[0].excludes[0]: found "Slices", ` + known},
		"excludes twice":   {func(d *Driver) { d.Gates[1].Excludes = []string{"Slices"} }, `gates[1].excludes[0]: found "Slices", expected an exclusion that is said once`},
		"requires unknown": {func(d *Driver) { d.Gates[2].Requires[0] = "Vfi" }, `gates[2].requires[0]: found "Vfi", ` + known},
		"requires itself":  {func(d *Driver) { d.Gates[2].Requires[0] = "Metadata" }, `gates[2].requires[0]: found "Metadata", ` + known},
		"contradictory": {func(d *Driver) { d.Gates[0].Requires = []string{"Vfio"} },
			`gates[0].requires: found [Vfio], expected gates that can be on together: Slices and Vfio exclude each other`},
		"contradictory by another": {func(d *Driver) { d.Gates[0].Requires = []string{"Metadata"} },
			`gates[0].requires: found [Metadata], expected gates that can be on together: Slices and Vfio exclude each other`},
		"defaults exclude each other": {func(d *Driver) { d.Gates[3].Excludes = []string{"Names"}; d.Gates[3].Requires = nil },
			`gates: on by default: found Links and Names, expected gates that do not exclude each other`},
		"default without what it requires": {func(d *Driver) { d.Gates[4].Default = false },
			`gates: on by default: found Links without Names, expected every gate together with those that it requires`},
		"partitioning against a default": {func(d *Driver) { d.Gates[0].Excludes = []string{"Names"} },
			`gates: on with partitioning Dynamic: found Names and Slices, expected gates that do not exclude each other`},
		"passthrough without what it requires": {func(d *Driver) { d.Gates[1].Requires = []string{"Slices"}; d.Gates[0].Excludes = nil },
			`gates: on with passthrough: found Vfio without Slices, expected every gate together`},
		"Kubernetes gate for an unknown one": {func(d *Driver) { d.KubernetesGates[0].DriverGate = "Slice" },
			`kubernetesGates[0].driverGate: found "Slice", expected a gate that the profile lists in gates`},
		"strategy with an unknown one": {func(d *Driver) { d.Sharing.Strategies["MPS"].Gates[0] = "Slice" },
			`sharing.strategies[MPS].gates[0]: found "Slice", expected a gate that the profile lists in gates`},
	} {
		t.Run(name, func(t *testing.T) {
			d := valid()
			c.breakIt(d)
			require.ErrorContains(t, d.Validate(), c.want)
		})
	}
}

// A profile that lists no gates passes any name on, so nothing is known to be wrong.
func TestGatesThatAreNotListed(t *testing.T) {
	d := valid()
	d.Gates, d.Plugin = nil, nil
	require.NoError(t, d.Validate())
}

// Whatever gates require of each other, in circles too: a gate that is accepted can be on with all that it needs.
func TestAcceptedGatesCanBeOn(t *testing.T) {
	names := []string{"A", "B", "C", "D"}
	rapid.Check(t, func(t *rapid.T) {
		var gates []Gate
		for _, n := range names {
			some := rapid.SliceOfNDistinct(rapid.SampledFrom(names), 0, 2, rapid.ID[string])
			gates = append(gates, Gate{Name: n, Requires: some.Draw(t, n+" requires"), Excludes: some.Draw(t, n+" excludes")})
		}
		c := &checker{}
		c.gates(gates)
		if len(c.errs) > 0 {
			return
		}
		for _, gate := range gates {
			on := map[string]bool{gate.Name: true}
			for range names {
				for _, g := range gates {
					for _, need := range g.Requires {
						on[need] = on[need] || on[g.Name]
					}
				}
			}
			for _, g := range gates {
				for _, other := range g.Excludes {
					if on[g.Name] && on[other] {
						t.Fatalf("%s was accepted and can never be on: %v", gate.Name, gates)
					}
				}
			}
		}
	})
}
