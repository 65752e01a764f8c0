package claim_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/gpu-dra/gpu-dra/internal/claim"
	"github.com/gpu-dra/gpu-dra/internal/claim/claimtest"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/selector"
)

// Whatever can be asked of a driver is built when its profile says that the driver has it, and refused with a reason
// otherwise. What is built, and every class, passes the API server's compiler: length, types and cost, with the gates that
// an expression could depend on both off and on.
func TestEveryTemplateOfEveryProfile(t *testing.T) {
	drivers, err := profile.Builtin()
	require.NoError(t, err)
	set, err := profile.NewSet(drivers...)
	require.NoError(t, err)
	expressions := map[string]bool{}
	names := map[string]bool{}
	for _, d := range drivers {
		for _, c := range d.Classes {
			expressions[c.Expression] = true
		}
		served := 0
		for _, template := range claimtest.Templates(&d) {
			require.False(t, names[template.Name], template.Name)
			names[template.Name] = true
			for _, caps := range []claim.Capabilities{{}, {NoPrioritizedList: true}} {
				built, err := claim.Build(template.Spec, set, caps)
				if !template.Served {
					var wrong *claim.Error
					require.ErrorAs(t, err, &wrong, template.Name)
					require.Equal(t, condition.TemplateUnsupported, wrong.Reason, template.Name)
					continue
				}
				require.NoError(t, err, template.Name)
				served++
				for _, s := range selectors(built) {
					expressions[s] = true
				}
				require.True(t, hasClass(d, claim.Class(built)), template.Name)
			}
		}
		require.NotZero(t, served, "driver %s serves nothing", d.Name)
	}
	for expression := range expressions {
		require.NoError(t, selector.Check(expression), expression)
	}
	plain := cel.GetCompiler(cel.Features{})
	for expression := range expressions {
		require.Nil(t, plain.CompileCELExpression(expression, cel.Options{}).Error, expression)
	}
}

func hasClass(d profile.Driver, name string) bool {
	return slices.ContainsFunc(d.Classes, func(c profile.Class) bool { return c.Name == name })
}

func selectors(spec resourcev1.ResourceClaimTemplateSpec) (out []string) {
	add := func(selectors []resourcev1.DeviceSelector) {
		for _, s := range selectors {
			out = append(out, s.CEL.Expression)
		}
	}
	for _, r := range spec.Spec.Devices.Requests {
		if r.Exactly != nil {
			add(r.Exactly.Selectors)
		}
		for _, sub := range r.FirstAvailable {
			add(sub.Selectors)
		}
	}
	return out
}
