package sidecar

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var row = regexp.MustCompile("(?m)^\\| `([A-Z][A-Za-z]+)` \\|")

// Each reason has a row in the table of both languages, and no row is of a reason that there is not.
func TestDocsSayWhatToDo(t *testing.T) {
	want := make([]string, len(reasons))
	for i, r := range reasons {
		want[i] = string(r)
	}
	for _, file := range []string{"../../docs/sidecar.md", "../../docs/sidecar.ru.md"} {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		var got []string
		for _, m := range row.FindAllStringSubmatch(string(text), -1) {
			if m[1] != "Auto" && m[1] != "CertManager" {
				got = append(got, m[1])
			}
		}
		require.ElementsMatch(t, want, got, file)
	}
}
