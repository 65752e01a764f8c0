package reservation

import (
	"math"
	"strconv"
)

// tier is one span of a node's memory.
type tier struct {
	// size of the span in MiB.
	size int64
	// share that is reserved of a span which is only partly there, or just full.
	share float64
	// whole is what is reserved in MiB once the memory goes beyond the span. It is not the share of size: the reservation jumps
	// up by a few MiB beyond 4 and 8 GiB, and falls by 54 MiB beyond 128 GiB.
	whole float64
}

// tiers are those of the node's own script, a third of the shares that OpenShift reserves
// (candi/bashible/common-steps/all/064_configure_kubelet.sh.tpl in deckhouse/deckhouse, commits 02979681 and b5cf028f).
var tiers = []tier{{4096, 0.08, 333}, {4096, 0.06, 252}, {8192, 0.03, 246}, {114688, 0.02, 2240}}

// aboveTiers is the share of all memory above the tiers.
const aboveTiers = 0.01

// tiered returns the reservation in bytes as the node computes it, to the byte: the same branches in the same order, every
// intermediate rounded as awk prints it. It is not monotonic, and must not be made so: the figure has to be the node's.
func tiered(totalMiB int64) int64 {
	left, sum := totalMiB, 0.0
	for _, t := range tiers {
		if left <= t.size {
			sum = printed(sum + printed(float64(left)*t.share))
			left = 0
		} else {
			sum = printed(sum + t.whole)
			left -= t.size
		}
	}
	sum = printed(sum + printed(float64(left)*aboveTiers))
	return int64(math.RoundToEven(sum * float64(mebi)))
}

// printed is a number after awk has printed it: whole ones in full, others with six significant digits (OFMT %.6g). That is
// one digit after the point for reservations of 10,000 MiB and more, nodes of about 805 GiB.
func printed(v float64) float64 {
	if v == math.Trunc(v) {
		return v
	}
	// What was formatted parses.
	out, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 6, 64), 64)
	return out
}
