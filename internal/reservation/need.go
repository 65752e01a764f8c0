package reservation

import (
	"math/big"
	"strconv"

	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// Decider is the term that makes a recommendation.
type Decider string

// Deciders.
const (
	// ByPlatform: the platform's own reservation is enough, or the node has too few cards for any other.
	ByPlatform Decider = "Platform"
	// ByDevices: the platform's own reservation and the part for the cards.
	ByDevices Decider = "Devices"
	// BySystemNeed: what keeps systemNeed free before soft eviction starts.
	BySystemNeed Decider = "SystemNeed"
)

// deviceUnit is what the part for the cards is rounded up to, as in the published formula.
const deviceUnit = 64 * mebi

// Need is what one node should reserve, and every term of it, in bytes.
type Need struct {
	// Capacity is the node's memory, Cards its physical cards.
	Capacity, Cards int64
	// Platform is what the platform reserves by itself.
	Platform int64
	// Devices is the part for the cards; 0 when there are fewer than minDevices.
	Devices int64
	// SystemNeed is what daemons may use before soft eviction starts.
	SystemNeed int64
	// EvictionHard and EvictionSoft are thresholds of available memory. The second is the first one that daemons meet.
	EvictionHard, EvictionSoft int64
	// MinDevices below which the platform's own reservation stands.
	MinDevices int64
	// Recommended is a whole number of Mi, never below Platform.
	Recommended int64
	// By is the term that decided.
	By Decider
}

// Recommend returns what a node with this capacity in bytes and this many physical cards should reserve.
func Recommend(p Platform, s settings.MemoryReservation, capacity, cards int64) Need {
	n := Need{Capacity: clamp(capacity), Cards: max(cards, 0), SystemNeed: settingBytes(s.SystemNeed), MinDevices: max(int64(s.MinDevices), 1)}
	n.Platform, n.EvictionHard, n.EvictionSoft = p.OfItself(n.Capacity), p.EvictionHard(n.Capacity), p.EvictionSoft(n.Capacity)
	n.By, n.Recommended = ByPlatform, roundUp(n.Platform, mebi)
	if n.Cards < n.MinDevices {
		return n
	}
	n.Devices = devicePart(s, n.Cards)
	if v := roundUp(n.byDevices(), mebi); v > n.Recommended {
		n.By, n.Recommended = ByDevices, v
	}
	if v := roundUp(n.bySystemNeed(), mebi); v > n.Recommended {
		n.By, n.Recommended = BySystemNeed, v
	}
	return n
}

func (n Need) byDevices() int64    { return n.Platform + n.Devices }
func (n Need) bySystemNeed() int64 { return n.SystemNeed + n.EvictionSoft - n.EvictionHard }

// devicePart is overhead x (base + perDevice x cards), rounded up to 64 MiB. It is computed in decimals: 1.1 as a binary
// fraction is a little more than 1.1, and would round an exact multiple of 64 MiB up to the next one.
func devicePart(s settings.MemoryReservation, cards int64) int64 {
	sum := new(big.Int).Mul(big.NewInt(settingBytes(s.PerDevice)), big.NewInt(cards))
	sum.Add(sum, big.NewInt(settingBytes(s.Base)))

	one := big.NewRat(1, 1)
	overhead, ok := new(big.Rat).SetString(strconv.FormatFloat(s.Overhead, 'g', -1, 64))
	if !ok || overhead.Cmp(one) < 0 {
		overhead = one
	}
	units := new(big.Rat).Mul(overhead, new(big.Rat).SetFrac(sum, big.NewInt(deviceUnit)))
	whole, rest := new(big.Int).QuoRem(units.Num(), units.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	if most := big.NewInt(maxBytes / deviceUnit); whole.Cmp(most) > 0 {
		whole = most
	}
	return whole.Int64() * deviceUnit
}
