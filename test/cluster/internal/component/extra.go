package component

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ParseExtra reads entries of the form "kube-apiserver=--flag=value": arguments that a component gets behind its own, as they are
// and in the order given. "kube-apiserver=" means none. This is how a component is given what its own options can't say, such as
// one feature gate twice.
func ParseExtra(entries []string) (map[string][]string, error) {
	var extra map[string][]string
	for _, entry := range entries {
		name, argument, ok := strings.Cut(entry, "=")
		if !ok || argument != "" && !strings.HasPrefix(argument, "--") {
			return nil, fmt.Errorf("extra argument %q: expected COMPONENT=--FLAG[=VALUE], or COMPONENT= for none", entry)
		}
		if _, err := Find(name); err != nil {
			return nil, fmt.Errorf("extra argument %q: %w", entry, err)
		}
		if extra == nil {
			extra = map[string][]string{}
		}
		if argument == "" {
			extra[name] = nil
			continue
		}
		extra[name] = append(extra[name], argument)
	}
	return extra, nil
}

// MergeExtra returns the extra arguments of a cluster with those of each component that over names replaced; nil for none.
func MergeExtra(base, over map[string][]string) map[string][]string {
	merged := map[string][]string{}
	maps.Copy(merged, base)
	maps.Copy(merged, over)
	maps.DeleteFunc(merged, func(_ string, args []string) bool { return len(args) == 0 })
	if len(merged) == 0 {
		return nil
	}
	return merged
}

// CommandLine is what a component is started with, its own name first.
func (k Kind) CommandLine(s Setting) []string {
	return slices.Concat([]string{k.Name}, k.Args(s), s.Options.ExtraArgs[k.Name])
}
