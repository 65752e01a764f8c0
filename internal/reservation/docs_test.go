package reservation

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// The figures of docs/memory.md are those of the code.
func TestDocumentedFigures(t *testing.T) {
	p, s := platform(t, tieredSpec), defaults(t)
	for _, page := range []string{"../../docs/memory.md", "../../docs/memory.ru.md"} {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, m := range []struct{ gib, cards int64 }{{2048, 8}, {128, 8}, {64, 4}} {
			capacity := m.gib * gibi
			own, n := p.OfItself(capacity), Recommend(p, s, capacity, m.cards)
			row := fmt.Sprintf("| %s | %s | %s", inMi(own), inMi(p.Headroom(capacity, own)), inMi(n.Recommended))
			require.Contains(t, string(text), row, page)
			if n.By != ByPlatform {
				row = fmt.Sprintf("| %s | %s |", inMi(n.Recommended), inMi(p.Headroom(capacity, n.Recommended)))
				require.Contains(t, string(text), row, page)
			}
		}
		for _, bound := range []string{fmt.Sprint(maxSpread, " %"), fmt.Sprint(maxShare, " %"), fmt.Sprint(rewriteAbove/mebi, " "), AnnotationKey} {
			require.Contains(t, string(text), bound, page)
		}
	}
}
