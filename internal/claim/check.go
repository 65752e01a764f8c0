package claim

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// allFeatures is all that a feature gate can allow in an expression: whether the gates of this cluster do is for its
// dry-run to say.
var allFeatures = cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}

// selectorCompiler is the API server's compiler for device selectors.
var selectorCompiler = sync.OnceValue(func() interface {
	CompileCELExpression(string, cel.Options) cel.CompilationResult
} {
	return cel.GetCompiler(allFeatures)
})

// Check compiles every selector of a claim template's spec, from whatever source, by the API server's rules: length,
// types and cost. The error is an Errors with the reason CELError; each names the selector's path in the spec
// (`spec.devices.requests[0].exactly.selectors[1].cel.expression`), the line and the column. What Build returns passes.
func Check(spec resourcev1.ResourceClaimTemplateSpec) error {
	p := &problems{}
	for i, r := range spec.Spec.Devices.Requests {
		path := fmt.Sprintf("spec.devices.requests[%d]", i)
		if r.Exactly != nil {
			p.checkSelectors(path+".exactly", r.Exactly.Selectors)
		}
		for j, sub := range r.FirstAvailable {
			p.checkSelectors(fmt.Sprintf("%s.firstAvailable[%d]", path, j), sub.Selectors)
		}
	}
	return p.err()
}

func (p *problems) checkSelectors(path string, selectors []resourcev1.DeviceSelector) {
	for i, s := range selectors {
		field := fmt.Sprintf("%s.selectors[%d].cel.expression", path, i)
		if s.CEL == nil {
			p.add(condition.TemplateCELError, field, "is missing: a selector is a CEL expression")
			continue
		}
		p.checkExpression(field, s.CEL.Expression)
	}
}

// checkExpression applies the rules of validateCELSelector in k8s.io/kubernetes pkg/apis/resource/validation, which
// cannot be imported.
func (p *problems) checkExpression(field, expression string) {
	if n := len(expression); n > resourcev1.CELSelectorExpressionMaxLength {
		p.add(condition.TemplateCELError, field, "has %d bytes, at most %d are allowed; split it into several selectors, all of which must hold",
			n, resourcev1.CELSelectorExpressionMaxLength)
		return
	}
	envType := environment.NewExpressions
	result := selectorCompiler().CompileCELExpression(expression, cel.Options{EnvType: &envType})
	switch {
	case result.Error != nil:
		p.add(condition.TemplateCELError, field, "%s; an expression sees device.driver, device.attributes[\"<driver>\"].<name> and device.capacity[\"<driver>\"].<name>, and must be true or false",
			compileMessage(result.Error.Detail))
	case result.MaxCost > resourcev1.CELSelectorExpressionMaxCost:
		p.add(condition.TemplateCELError, field, "too complex: its estimated cost %d exceeds the limit %d; use fewer loops and regular expressions",
			result.MaxCost, resourcev1.CELSelectorExpressionMaxCost)
	}
}

var compileError = regexp.MustCompile(`ERROR: <input>:(\d+):(\d+): (.*)`)

// compileMessage turns the compiler's report, which repeats the expression and draws an arrow under it, into one line.
func compileMessage(detail string) string {
	found := compileError.FindAllStringSubmatch(detail, -1)
	if len(found) == 0 {
		return strings.Join(strings.Fields(detail), " ")
	}
	lines := make([]string, len(found))
	for i, f := range found {
		lines[i] = fmt.Sprintf("line %s, column %s: %s", f[1], f[2], f[3])
	}
	return strings.Join(lines, ", ")
}
