package guard

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-dra/gpu-dra/internal/guard"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// wait is something on the host that has to be there first.
type wait struct {
	// what it is, in a few words.
	what string
	// anyOf are paths of which one has to exist.
	anyOf []string
}

// parse reads the values of the flags. A rule that is misread would guard against nothing, so what is doubtful is refused.
func (o options) parse() (guard.Rules, []wait, error) {
	var rules guard.Rules
	var waits []wait
	if len(validation.IsDNS1123Subdomain(o.node)) > 0 {
		return rules, nil, wrong("node", o.node, "the name of a Node, here or in the variable NODE_NAME")
	}
	if o.timeout < 0 {
		return rules, nil, wrong("timeout", o.timeout.String(), "a duration of 0 or more")
	}
	for _, v := range o.pluginResources {
		name := strings.TrimSuffix(v, "*")
		if domain, _, ok := strings.Cut(name, "/"); !ok || domain == "" || strings.Contains(name, "*") {
			return rules, nil, wrong("plugin-resource", v, "domain/name of an extended resource, or such a prefix with one * at its end")
		}
		rules.PluginResources = append(rules.PluginResources, v)
	}
	for _, v := range o.managerLabels {
		trace, ok := label(v)
		if !ok {
			return rules, nil, wrong("manager-label", v, "the key of a label, or key=value[,value]")
		}
		rules.Labels = append(rules.Labels, trace)
	}
	for _, v := range o.waitFor {
		w, ok := waiting(v)
		if !ok {
			return rules, nil, wrong("wait-for", v, "what=/path[,/path], the paths absolute")
		}
		waits = append(waits, w)
	}
	return rules, waits, nil
}

func wrong(flag, found, expected string) error {
	return fmt.Errorf("--%s: found %q, expected %s", flag, found, expected)
}

func label(v string) (profile.ManagerTrace, bool) {
	key, values, restricted := strings.Cut(v, "=")
	trace := profile.ManagerTrace{NodeLabel: key}
	if len(validation.IsQualifiedName(key)) > 0 {
		return trace, false
	}
	if !restricted {
		return trace, true
	}
	for _, value := range strings.Split(values, ",") {
		// An empty value is a valid label, but here most likely a list that came out empty.
		if value == "" || len(validation.IsValidLabelValue(value)) > 0 {
			return trace, false
		}
		trace.NodeLabelValues = append(trace.NodeLabelValues, value)
	}
	return trace, true
}

func waiting(v string) (wait, bool) {
	// The words may hold an equals sign; paths are absolute, so the first one before a slash ends the words.
	what, paths, ok := strings.Cut(v, "=/")
	w := wait{what: strings.TrimSpace(what)}
	if !ok || w.what == "" {
		return w, false
	}
	for _, path := range strings.Split("/"+paths, ",") {
		if !strings.HasPrefix(path, "/") {
			return w, false
		}
		w.anyOf = append(w.anyOf, path)
	}
	return w, true
}
