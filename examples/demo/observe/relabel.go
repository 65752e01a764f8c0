package main

import (
	"fmt"
	"regexp"
	"strings"
)

// relabeling is a rule; see https://prometheus.io/docs/prometheus/latest/configuration/configuration/#relabel_config.
type relabeling struct {
	SourceLabels               []string
	Action, Regex, TargetLabel string
	Replacement                *string
}

// apply changes the labels by the rule. Of the actions it knows those that the chart uses.
func (r relabeling) apply(labels map[string]string) error {
	expression := r.Regex
	if expression == "" {
		expression = "(.*)"
	}
	regex, err := regexp.Compile("^(?s:" + expression + ")$")
	if err != nil {
		return fmt.Errorf("regex %q: %w", r.Regex, err)
	}
	switch r.Action {
	case "", "replace":
		var values []string
		for _, name := range r.SourceLabels {
			values = append(values, labels[name])
		}
		source, replacement := strings.Join(values, ";"), "$1"
		if r.Replacement != nil {
			replacement = *r.Replacement
		}
		found := regex.FindStringSubmatchIndex(source)
		if found == nil {
			return nil
		}
		if value := string(regex.ExpandString(nil, replacement, source, found)); value != "" {
			labels[r.TargetLabel] = value
		} else {
			delete(labels, r.TargetLabel)
		}
	case "labeldrop":
		for name := range labels {
			if regex.MatchString(name) {
				delete(labels, name)
			}
		}
	default:
		return fmt.Errorf("action %q of a relabeling is not one that this program knows (replace, labeldrop)", r.Action)
	}
	return nil
}
