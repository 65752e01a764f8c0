// Package selector says whether the API server would take a CEL expression that selects devices, in a DeviceClass or in a
// request of a claim. It reads nothing of the cluster.
package selector

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
)

// Features is all that a feature gate can allow in an expression: whether the gates of this cluster do is for the API server
// to say.
var Features = cel.Features{EnableConsumableCapacity: true, EnableListTypeAttributes: true}

// compiler is the API server's compiler for device selectors.
var compiler = sync.OnceValue(func() interface {
	CompileCELExpression(string, cel.Options) cel.CompilationResult
} {
	return cel.GetCompiler(Features)
})

// Check applies the rules of validateCELSelector in k8s.io/kubernetes pkg/apis/resource/validation, which cannot be imported:
// length in bytes, types and cost. The error is one line that says what is wrong and what to do.
func Check(expression string) error {
	if n := len(expression); n > resourcev1.CELSelectorExpressionMaxLength {
		return fmt.Errorf("has %d bytes, at most %d are allowed; split it into several selectors, all of which must hold",
			n, resourcev1.CELSelectorExpressionMaxLength)
	}
	envType := environment.NewExpressions
	result := compiler().CompileCELExpression(expression, cel.Options{EnvType: &envType})
	switch {
	case result.Error != nil:
		return fmt.Errorf("%s; an expression sees device.driver, device.attributes[\"<driver>\"].<name> and device.capacity[\"<driver>\"].<name>, and must be true or false",
			Message(result.Error.Detail))
	case result.MaxCost > resourcev1.CELSelectorExpressionMaxCost:
		return fmt.Errorf("too complex: its estimated cost %d exceeds the limit %d; use fewer loops and regular expressions",
			result.MaxCost, resourcev1.CELSelectorExpressionMaxCost)
	}
	return nil
}

var compileError = regexp.MustCompile(`ERROR: <input>:(\d+):(\d+): (.*)`)

// Message turns the compiler's report, which repeats the expression and draws an arrow under it, into one line.
func Message(detail string) string {
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
