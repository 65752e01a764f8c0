package claim

import (
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-dra/gpu-dra/internal/condition"
	celselector "github.com/gpu-dra/gpu-dra/internal/selector"
)

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

func (p *problems) checkExpression(field, expression string) {
	if err := celselector.Check(expression); err != nil {
		p.add(condition.TemplateCELError, field, "%s", err)
	}
}
