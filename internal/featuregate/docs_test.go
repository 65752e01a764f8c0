package featuregate

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

var documentedRow = regexp.MustCompile(`(?m)^\| ([A-Z]\w+) \| (on|off|-).*$`)

// The table of docs/feature-gates.md is that of the code, and has every gate that a setting may need of itself.
func TestDocumentedGates(t *testing.T) {
	const first = 34
	needable := []string{DynamicResourceAllocation, PrioritizedList, ExtendedResource}
	drivers, err := profile.Builtin()
	require.NoError(t, err)
	for _, d := range drivers {
		for _, need := range d.KubernetesGates {
			needable = append(needable, need.Gate)
		}
	}
	for _, page := range []string{"../../docs/feature-gates.md", "../../docs/feature-gates.ru.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		header := "| Gate |"
		for minor := first; minor <= newest; minor++ {
			header += fmt.Sprintf(" 1.%d |", minor)
		}
		require.Contains(t, string(text), header, page)
		var shown []string
		for _, m := range documentedRow.FindAllStringSubmatch(string(text), -1) {
			gate := m[1]
			shown = append(shown, gate)
			require.True(t, InTable(gate), "%s: %s", page, gate)
			row := "| " + gate + " |"
			for minor := first; minor <= newest; minor++ {
				at := At(gate, minor)
				cell := map[bool]string{true: "on", false: "off"}[at.On]
				if !at.Present {
					cell = "-"
				} else if at.Locked {
					cell += ", locked"
				}
				row += " " + cell + " |"
			}
			row += " " + strings.Join(Readers(gate), ", ") + " |"
			require.True(t, strings.HasPrefix(m[0], row), "%s has\n%s\nwhich should begin with\n%s", page, m[0], row)
		}
		for _, gate := range needable {
			require.True(t, slices.Contains(shown, gate), "%s: no row for %s", page, gate)
		}
		require.Contains(t, string(text), fmt.Sprintf("1.%d", newest+1), page)
	}
}
