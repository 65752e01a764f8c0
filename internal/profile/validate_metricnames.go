package profile

import (
	"fmt"
	"regexp"
	"slices"
)

// Common names that recording rules know.
var (
	commonLabels = []string{"accelerator", "model", "partition", "namespace", "pod", "container", "claim"}
	commonSeries = []string{
		"memoryUsed", "memoryTotal", "utilization", "memoryBandwidth", "temperature", "memoryTemperature", "power", "energy",
		"uncorrectableErrors", "healthy",
	}
)

var (
	seriesName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	// matchValue has nothing in it that ends a string of PromQL.
	matchValue = regexp.MustCompile(`^[A-Za-z0-9 ._/-]+$`)
)

// metricNames: rules are made of them, and the operator refuses a whole object for one that does not parse.
func (c *checker) metricNames(m *MetricNames) {
	if m == nil {
		return
	}
	const at = "exporter.metricNames."
	if m.Labels["accelerator"] == "" {
		c.wrong(at+"labels[accelerator]", "", "the exporter's label that tells devices apart")
	}
	for _, key := range sortedKeys(m.Labels) {
		field := fmt.Sprintf("%slabels[%s]", at, key)
		oneOf(c, field, key, commonLabels...)
		if m.Labels[key] != "" && !metricName.MatchString(m.Labels[key]) {
			c.wrong(field, m.Labels[key], "the name of a label")
		}
	}
	for _, key := range sortedKeys(m.Series) {
		field := fmt.Sprintf("%sseries[%s]", at, key)
		oneOf(c, field, key, commonSeries...)
		if n := len(m.Series[key]); n == 0 || n > 4 {
			c.wrong(field, phrase(fmt.Sprintf("%d entries", n)), "1 to 4")
		}
		for i, s := range m.Series[key] {
			c.series(fmt.Sprintf("%s[%d].", field, i), s)
		}
	}
	if len(m.Renamed) > 64 {
		c.wrong(at+"renamed", phrase(fmt.Sprintf("%d entries", len(m.Renamed))), "at most 64")
	}
	for i, r := range m.Renamed {
		field := fmt.Sprintf("%srenamed[%d].", at, i)
		c.renamed(field, r.Was, r.Now, seriesName)
		c.factor(field, r.Factor)
	}
	for i, r := range m.RenamedLabels {
		c.renamed(fmt.Sprintf("%srenamedLabels[%d].", at, i), r.Was, r.Now, metricName)
	}
}

func (c *checker) series(field string, s MetricSeries) {
	if n := len(s.Metrics); n == 0 || n > 4 {
		c.wrong(field+"metrics", phrase(fmt.Sprintf("%d metrics", n)), "1 to 4")
	}
	for i, name := range s.Metrics {
		if !seriesName.MatchString(name) || slices.Contains(s.Metrics[:i], name) {
			c.wrong(fmt.Sprintf("%smetrics[%d]", field, i), name, "the name of a metric that the entry does not already have")
		}
	}
	for _, label := range sortedKeys(s.Match) {
		at := fmt.Sprintf("%smatch[%s]", field, label)
		if !metricName.MatchString(label) {
			c.wrong(at, label, "the name of a label")
		}
		if !matchValue.MatchString(s.Match[label]) {
			c.wrong(at, s.Match[label], "a value of letters, digits, spaces and . _ / -")
		}
	}
	c.factor(field, s.Factor)
	oneOf(c, field+"aggregate", s.Aggregate, "", "max", "sum")
}

func (c *checker) factor(field string, factor float64) {
	if factor < 0 {
		c.wrong(field+"factor", factor, "a number above 0")
	}
}

func (c *checker) renamed(field, was, now string, name *regexp.Regexp) {
	if !name.MatchString(was) {
		c.wrong(field+"was", was, "the name before")
	}
	if !name.MatchString(now) || now == was {
		c.wrong(field+"now", now, "another name, the one of the newer exporter")
	}
}
