package plan

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What docs/feature-gates.md shows is what the command prints: the whole of it for one cluster, and what is different on a platform
// that writes the flags itself. TestText holds both files to the command.
func TestDocumentedOutput(t *testing.T) {
	whole, err := os.ReadFile(filepath.Join("testdata", "vanilla.txt"))
	require.NoError(t, err)
	other, err := os.ReadFile(filepath.Join("testdata", "deckhouse.txt"))
	require.NoError(t, err)
	at := strings.Index(string(other), "What Deckhouse sets by itself")
	require.Positive(t, at)
	for _, page := range []string{"feature-gates.md", "feature-gates.ru.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", page))
		require.NoError(t, err)
		require.Contains(t, string(text), "```\n"+string(whole)+"```\n", page)
		require.Contains(t, string(text), "```\n"+string(other)[at:]+"```\n", page)
	}
}
