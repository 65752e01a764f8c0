package featuregate

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

var errMixedPrefix = errors.New("--feature-gates: some gates have the prefix kube: and some have none; " +
	"the component does not start with both, use one form")

// parseGates merges the values of all --feature-gates flags of one component as it does itself
// (k8s.io/component-base/compatibility: everything is joined, then read in order).
func parseGates(component string, values []string) (map[string]bool, []Twice, error) {
	set := map[string]bool{}
	given := map[string][]bool{}
	prefixes := map[string]bool{}
	for _, pair := range strings.Split(strings.Join(values, ","), ",") {
		if pair == "" {
			continue
		}
		prefix, item := "", pair
		if p, rest, ok := strings.Cut(pair, ":"); ok {
			prefix, item = strings.TrimSpace(p), rest
		}
		if prefix != "" && prefix != "kube" {
			return nil, nil, fmt.Errorf("--feature-gates: found %q, but %s has no gates with the prefix %q", pair, component, prefix+":")
		}
		prefixes[prefix] = true
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		name, text, _ := strings.Cut(item, "=")
		name = strings.TrimSpace(name)
		on, err := strconv.ParseBool(strings.TrimSpace(text))
		if err != nil {
			return nil, nil, fmt.Errorf("--feature-gates: found %q, expected Gate=true or Gate=false", pair)
		}
		set[name] = on
		given[name] = append(given[name], on)
	}
	if len(prefixes) > 1 {
		return nil, nil, errMixedPrefix
	}
	return set, givenTwice(given), nil
}

func givenTwice(given map[string][]bool) []Twice {
	var out []Twice
	for name, values := range given {
		if len(values) > 1 {
			out = append(out, Twice{Gate: name, Values: values})
		}
	}
	slices.SortFunc(out, func(a, b Twice) int { return strings.Compare(a.Gate, b.Gate) })
	return out
}
