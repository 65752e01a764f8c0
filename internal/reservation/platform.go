package reservation

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// How a platform reserves memory by itself (profile.KubeletMemory, Reserved).
const (
	// ReservedNone: nothing is reserved unless somebody configures it.
	ReservedNone = "None"
	// ReservedTiered: shares of the node's memory that fall with its size (tiers.go).
	ReservedTiered = "Tiered"
)

// Platform answers what the platform does on a node of a given size. The zero Platform reserves and evicts nothing.
type Platform struct {
	tiered                bool
	hard, soft            threshold
	cpu, ephemeralStorage string
}

// NewPlatform reads what a distribution's profile says. The error names the field, what was found and what is expected.
func NewPlatform(m profile.KubeletMemory) (Platform, error) {
	p := Platform{cpu: m.CPU, ephemeralStorage: m.EphemeralStorage}
	switch m.Reserved {
	case "", ReservedNone:
	case ReservedTiered:
		p.tiered = true
	default:
		return Platform{}, fmt.Errorf("reserved: found %q, expected %s or %s", m.Reserved, ReservedNone, ReservedTiered)
	}
	var err error
	if p.hard, err = parseThreshold("evictionHard", m.EvictionHard); err != nil {
		return Platform{}, err
	}
	if p.soft, err = parseThreshold("evictionSoft", m.EvictionSoft); err != nil {
		return Platform{}, err
	}
	for _, f := range []struct{ name, value string }{{"cpu", m.CPU}, {"ephemeralStorage", m.EphemeralStorage}} {
		if q, ok := toQuantity(f.value); f.value != "" && (!ok || q.Sign() <= 0) {
			return Platform{}, fmt.Errorf("%s: found %q, expected a quantity above zero", f.name, f.value)
		}
	}
	return p, nil
}

// OfItself returns the bytes that the platform reserves by itself on a node with this capacity.
func (p Platform) OfItself(capacity int64) int64 {
	if !p.tiered {
		return 0
	}
	return tiered(wholeMiB(capacity))
}

// EvictionHard returns the bytes of memory.available below which the kubelet kills pods at once, and which it therefore takes
// from allocatable.
func (p Platform) EvictionHard(capacity int64) int64 { return p.hard.of(wholeMiB(capacity)) }

// EvictionSoft returns the bytes of memory.available where eviction starts: the soft threshold, or the hard one where there
// is no soft one above it.
func (p Platform) EvictionSoft(capacity int64) int64 {
	return max(p.soft.of(wholeMiB(capacity)), p.EvictionHard(capacity))
}

// wholeMiB is the node's memory as its own script sees it. Node status.capacity.memory is MemTotal of /proc/meminfo, which
// counts KiB; `free -m` prints the same MemTotal cut off to whole MiB.
func wholeMiB(capacity int64) int64 { return clamp(capacity) / mebi }

// threshold is a fixed amount or a share of the node's memory.
type threshold struct {
	bytes int64
	share float64
}

func (t threshold) of(totalMiB int64) int64 {
	if t.share > 0 {
		// The script multiplies in this order, in double precision, and rounds half to even.
		return int64(math.RoundToEven(float64(totalMiB) * float64(mebi) * t.share))
	}
	return t.bytes
}

func parseThreshold(field, text string) (threshold, error) {
	if text == "" {
		return threshold{}, nil
	}
	if number, ok := strings.CutSuffix(text, "%"); ok {
		if v, err := strconv.ParseFloat(number, 64); err == nil && v > 0 && v <= 100 {
			return threshold{share: v / 100}, nil
		}
	} else if q, err := resource.ParseQuantity(text); err == nil {
		if n, ok := bytesOf(q); ok {
			return threshold{bytes: n}, nil
		}
	}
	return threshold{}, fmt.Errorf("%s: found %q, expected a quantity such as 100Mi or a percentage such as 1%%", field, text)
}
