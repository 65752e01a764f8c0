//go:build bench

package bench

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/fleet"
)

const (
	// model of the cards of the fleet.
	model = "nvidia-h100-80gb"
	// cut gives seven partitions of one card of the model.
	cut, partitions = "smallest", 7
	// groups are the node groups that nodes are spread over.
	groups = 10
	// namespace of the module.
	namespace = "d8-gpu-dra"
	// groupLabel is the label by which Deckhouse says which group a node is in.
	groupLabel = "node.deckhouse.io/group"
)

// size is a fleet of like nodes.
type size struct {
	name         string
	nodes, cards int
	cut          bool
}

// sizes to measure: those in GPU_DRA_BENCH_SIZES, written as 500x8 (nodes x cards) or 5000x8x7 (x partitions of each card).
func sizes(t *testing.T) []size {
	t.Helper()
	list := os.Getenv("GPU_DRA_BENCH_SIZES")
	if list == "" {
		list = "500x8,5000x8,5000x8x7"
	}
	form := regexp.MustCompile(`^(\d+)x(\d+)(?:x(\d+))?$`)
	var out []size
	for _, name := range strings.Split(list, ",") {
		name = strings.TrimSpace(name)
		m := form.FindStringSubmatch(name)
		require.NotNil(t, m, "GPU_DRA_BENCH_SIZES: %q is no size, one is written as 500x8 or 5000x8x7", name)
		s := size{name: name, cut: m[3] != ""}
		var err error
		s.nodes, err = strconv.Atoi(m[1])
		require.NoError(t, err)
		s.cards, err = strconv.Atoi(m[2])
		require.NoError(t, err)
		if s.cut {
			require.Equal(t, strconv.Itoa(partitions), m[3], "GPU_DRA_BENCH_SIZES: %s has %d partitions of a card", model, partitions)
		}
		out = append(out, s)
	}
	return out
}

func (s size) layout() fleet.Layout {
	l := fleet.Layout{Cards: s.cards}
	if s.cut {
		l.CutCards, l.Cut = s.cards, cut
	}
	return l
}

func nodeName(i int) string { return fmt.Sprintf("gpu-node-%05d", i) }

func groupName(i int) string { return fmt.Sprintf("gpu-%d", i%groups) }

// partitioning is what the settings say of a group whose cards the fleet has cut, or not.
func (s size) partitioning() string {
	if s.cut {
		return "Static"
	}
	return "None"
}

// moduleSettings list all groups.
func moduleSettings(partitioning string) string {
	out := "nodeGroups:\n"
	for i := range groups {
		out += fmt.Sprintf("- {name: %s, drivers: [nvidia], partitioning: %s}\n", groupName(i), partitioning)
	}
	return out
}
