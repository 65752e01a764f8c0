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
	metrics := make([]RenamedLabel, len(m.Renamed))
	for i, r := range m.Renamed {
		metrics[i] = RenamedLabel{Was: r.Was, Now: r.Now}
		c.factor(fmt.Sprintf("%srenamed[%d].", at, i), r.Factor)
		if slices.Contains(ofPrometheus, r.Was) {
			c.wrong(fmt.Sprintf("%srenamed[%d].was", at, i), r.Was, "a metric of the exporter: this one Prometheus itself makes of each scrape")
		}
	}
	c.renamed(at+"renamed", metrics, seriesName)
	c.renamed(at+"renamedLabels", m.RenamedLabels, metricName)
}

// ofPrometheus are series that a scrape leaves whatever the exporter says: a rule of that name would mix with them.
var ofPrometheus = []string{"up", "scrape_duration_seconds", "scrape_samples_scraped", "scrape_samples_post_metric_relabeling", "scrape_series_added"}

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

// renamed: each old name is made of one new one, and a new one is never made itself, or rules would go in a circle.
func (c *checker) renamed(at string, list []RenamedLabel, name *regexp.Regexp) {
	old := map[string]bool{}
	for i, r := range list {
		field := fmt.Sprintf("%s[%d].", at, i)
		if !name.MatchString(r.Was) || old[r.Was] {
			c.wrong(field+"was", r.Was, "the name before, which no other entry has")
		}
		old[r.Was] = true
		if !name.MatchString(r.Now) || r.Now == r.Was {
			c.wrong(field+"now", r.Now, "another name, the one of the newer exporter")
		}
	}
	for i, r := range list {
		if r.Now != r.Was && old[r.Now] {
			c.wrong(fmt.Sprintf("%s[%d].now", at, i), r.Now, "a name that no entry has for the one before")
		}
	}
}
