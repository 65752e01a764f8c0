package reservation

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
)

// Term is one term of a recommendation.
type Term struct {
	// Name of the term, CamelCase.
	Name string
	// Value in bytes.
	Value resource.Quantity
}

// TermEvictionHard is the name of the term that the static memory manager counts too.
const TermEvictionHard = "EvictionHard"

// Terms lists what the recommendation is made of: Platform + Devices on one side, SystemNeed + EvictionSoft - EvictionHard on
// the other. Always the same five, in this order.
func (n Need) Terms() []Term {
	return []Term{
		{"Platform", *Quantity(n.Platform)},
		{"Devices", *Quantity(n.Devices)},
		{"SystemNeed", *Quantity(n.SystemNeed)},
		{"EvictionSoft", *Quantity(n.EvictionSoft)},
		{TermEvictionHard, *Quantity(n.EvictionHard)},
	}
}

// Why is one sentence: which term decided, and against what.
func (n Need) Why() string {
	devices := fmt.Sprintf("the platform's own %s and %s for %d cards (%s)", inMi(n.Platform), inMi(n.Devices), n.Cards, inMi(n.byDevices()))
	system := fmt.Sprintf("%s of systemNeed and the %s between hard and soft eviction (%s)",
		inMi(n.SystemNeed), inMi(n.EvictionSoft-n.EvictionHard), inMi(n.bySystemNeed()))
	switch {
	case n.By == BySystemNeed:
		return fmt.Sprintf("systemNeed decides: %s are more than %s", system, devices)
	case n.By == ByDevices:
		return fmt.Sprintf("the cards decide: %s are no less than %s", devices, system)
	case n.Cards < n.MinDevices && n.Platform == 0:
		return fmt.Sprintf("%d cards are fewer than minDevices (%d): what the kubelet is configured with stands", n.Cards, n.MinDevices)
	case n.Cards < n.MinDevices:
		return fmt.Sprintf("%d cards are fewer than minDevices (%d): the platform's own %s are recommended", n.Cards, n.MinDevices, inMi(n.Platform))
	}
	return fmt.Sprintf("the platform decides: its own %s are no less than %s", inMi(n.Platform), system)
}
