package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"google.golang.org/protobuf/types/known/structpb"
)

// ruleNode is a schema as far as x-deckhouse-validations are concerned. addon-operator looks for rules below `properties` only,
// never inside list items or map values; so does this.
type ruleNode struct {
	Properties map[string]*ruleNode `json:"properties"`
	Rules      []rule               `json:"x-deckhouse-validations"`
}

type rule struct {
	Expression string `json:"expression"`
	Message    string `json:"message"`
	program    cel.Program
}

// compile prepares every rule in the environment that addon-operator gives them: `self`, no libraries.
func (n *ruleNode) compile(path string) error {
	env, err := cel.NewEnv(cel.Variable("self", cel.DynType))
	if err != nil {
		return err
	}
	for i := range n.Rules {
		ast, issues := env.Compile(n.Rules[i].Expression)
		if issues.Err() != nil {
			return fmt.Errorf("%s: rule %q: %w", path, n.Rules[i].Expression, issues.Err())
		}
		if n.Rules[i].program, err = env.Program(ast); err != nil {
			return fmt.Errorf("%s: rule %q: %w", path, n.Rules[i].Expression, err)
		}
	}
	for k, p := range n.Properties {
		if err := p.compile(join(path, k)); err != nil {
			return err
		}
	}
	return nil
}

// check returns the rules that value breaks. A rule that cannot be evaluated is left out: then the value does not have the type
// that the schema wants, which is reported anyway.
func (n *ruleNode) check(value any, path string) []Problem {
	var out []Problem
	if object, ok := value.(map[string]any); ok {
		for k, p := range n.Properties {
			if v, ok := object[k]; ok {
				out = append(out, p.check(v, join(path, k))...)
			}
		}
	}
	for _, r := range n.Rules {
		if !r.broken(value) {
			continue
		}
		message := strings.TrimPrefix(r.Message, path+": ")
		culprits := r.culprits(value)
		if len(culprits) == 0 {
			out = append(out, Problem{path, message})
		}
		for _, i := range culprits {
			out = append(out, Problem{fmt.Sprintf("%s[%d]", path, i), message})
		}
	}
	slices.SortStableFunc(out, func(a, b Problem) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// culprits are the items of a list that break the rule by themselves; none for a rule about items together.
func (r rule) culprits(value any) []int {
	var out []int
	list, _ := value.([]any)
	for i := range list {
		if r.broken(list[i : i+1]) {
			out = append(out, i)
		}
	}
	return out
}

func (r rule) broken(value any) bool {
	self, err := structpb.NewValue(value)
	if err != nil {
		return false
	}
	result, _, err := r.program.Eval(map[string]any{"self": self})
	if err != nil {
		return false
	}
	pass, ok := result.Value().(bool)
	return ok && !pass
}
