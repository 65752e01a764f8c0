package charttest

import (
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is cut out of an expression, in this order, before metrics are what is left: promtool has parsed it elsewhere (test/e2e/rules).
var (
	quoted   = regexp.MustCompile("\"(\\\\.|[^\"\\\\])*\"|'(\\\\.|[^'\\\\])*'|`[^`]*`")
	braces   = regexp.MustCompile(`\{[^{}]*\}|\[[^\[\]]*\]`)
	grouping = regexp.MustCompile(`\b(by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)`)
	word     = regexp.MustCompile(`[A-Za-z_:][A-Za-z0-9_:]*(\s*\()?`)
	number   = regexp.MustCompile(`\b[0-9][0-9a-zA-Z.]*(e[+-][0-9]+)?\b`)
)

var operators = map[string]bool{"and": true, "or": true, "unless": true, "bool": true, "offset": true, "group_left": true, "group_right": true, "inf": true, "nan": true}

// named is a selector of several metrics by their names: label_values, of which variables are made, takes one selector and no `or`.
var named = regexp.MustCompile(`\{__name__=~"([a-z_:|]+)"\}`)

// metricsIn are the names of the metrics that an expression of PromQL selects, sorted, each once.
func metricsIn(expr string) []string {
	expr = named.ReplaceAllStringFunc(expr, func(selector string) string {
		return " " + strings.ReplaceAll(named.FindStringSubmatch(selector)[1], "|", " ") + " "
	})
	for _, cut := range []*regexp.Regexp{quoted, braces, grouping, number} {
		expr = cut.ReplaceAllString(expr, " ")
	}
	found := map[string]bool{}
	for _, w := range word.FindAllString(expr, -1) {
		if name := strings.TrimSpace(w); !strings.HasSuffix(name, "(") && !operators[strings.ToLower(name)] {
			found[name] = true
		}
	}
	out := make([]string, 0, len(found))
	for name := range found {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

func TestMetricsIn(t *testing.T) {
	for expr, want := range map[string][]string{
		"up": {"up"},
		`max by (group) (gpu_dra_nodes{state="a) b"}) > 0`:                                   {"gpu_dra_nodes"},
		`absent(up{job="x"} == 1)`:                                                           {"up"},
		"a * 9.5e-07 unless on (instance) b{renamed=\"\"}":                                   {"a", "b"},
		"sum by (node) (increase(gpu:energy_joules_total[15m])) == 0":                        {"gpu:energy_joules_total"},
		`max by (a, b) (label_replace((X + Y) * 1048576, "accelerator", "$1", "U", "(.+)"))`: {"X", "Y"},
		`{__name__=~"a_total|b:c"}`:                                                          {"a_total", "b:c"},
		"min(c) - time() < 259200":                                                           {"c"},
		"sum(rate(x[5m] offset 1h)) / ignoring(y) group_left(z) w":                           {"w", "x"},
	} {
		require.Equal(t, want, metricsIn(expr), expr)
	}
}
