//go:build bench

package bench

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// width of the widest line of the table, for terminals and quotes.
const width = 100

// sections of the table, in its order.
var sections = []string{
	"inventory: all slices, beside json.Unmarshal of the same bytes into typed objects",
	"hook nodegroups as addon-operator runs it, beside json.Unmarshal of its context file",
	"hook nodegroups with feature gates and kubelet memory, beside itself without",
	"memory and processor time of the long-lived processes, 60 s after sync",
	"latency of a change on one node among so many, p50 / p99",
	"latency of changes while every node publishes its slices anew within 60 s",
}

const (
	sectionInventory = iota
	sectionHook
	sectionFacts
	sectionProcesses
	sectionLatency
	sectionRegeneration
)

// row is one line of the table. Rows without a target explain those that have one.
type row struct {
	what, figure, target, ratio string
	within                      *bool
}

// table collects rows.
type table struct {
	mu   sync.Mutex
	rows [][]row
	n    int
}

var results = &table{rows: make([][]row, len(sections))}

// add a figure that has no target.
func (t *table) add(section int, what, figure, ratio string) {
	t.put(section, row{what: what, figure: figure, ratio: ratio})
}

// judge adds a figure beside its target.
func (t *table) judge(section int, what, figure, target, ratio string, within bool) {
	t.put(section, row{what, figure, target, ratio, &within})
}

func (t *table) put(section int, r row) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows[section] = append(t.rows[section], r)
	t.n++
}

func (t *table) len() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.n
}

func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	const line = "%-58s %-15s %-11s %-6s %s"
	out := []string{fmt.Sprintf(line, "MEASURED", "FIGURE", "TARGET", "RATIO", "WITHIN"), strings.Repeat("-", width-1)}
	for i, title := range sections {
		if len(t.rows[i]) == 0 {
			continue
		}
		out = append(out, title)
		for _, r := range t.rows[i] {
			within := ""
			if r.within != nil {
				within = map[bool]string{true: "yes", false: "NO"}[*r.within]
			}
			out = append(out, strings.TrimRight(fmt.Sprintf(line, "  "+r.what, r.figure, r.target, r.ratio, within), " "))
		}
	}
	return strings.Join(out, "\n")
}

func ratio(x float64) string { return fmt.Sprintf("%.2f", x) }

func mib(kib int64) string { return fmt.Sprintf("%.0f MiB", float64(kib)/1024) }

func millis(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// quantile of a sorted list, the nearest rank: of fewer than a hundred, the 99th is the largest.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, max(0, int(q*float64(len(sorted))+0.999999)-1))]
}

func median[T int64 | time.Duration](list []T) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[(len(sorted)-1)/2]
}

func TestTableFitsATerminal(t *testing.T) {
	sample := &table{rows: make([][]row, len(sections))}
	for i := range sections {
		sample.judge(i, "5000x8x7: peak RSS above that of a run with no nodes", "1234.5 ms", "<= 300 MiB", "12.34", false)
	}
	for _, l := range strings.Split(sample.String(), "\n") {
		require.LessOrEqual(t, utf8.RuneCountInString(l), width, l)
	}
	list := make([]time.Duration, 40)
	for i := range list {
		list[i] = time.Duration(i + 1)
	}
	require.EqualValues(t, 20, quantile(list, 0.5))
	require.EqualValues(t, 40, quantile(list, 0.99))
}
