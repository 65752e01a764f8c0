package claim

import (
	"fmt"
	"math"
	"math/big"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// windowCount is how many windows the ladder has below its last step. The ladder is fixed, because the spec it becomes
// part of is immutable: it must not change with the cluster.
const windowCount = 3

// window of memory, in bytes of one device: from low, and below high where that is set.
type window struct {
	low  resource.Quantity
	high *resource.Quantity
}

// name of the window's sub-request: it stands in the allocation result (`gpu/16gi-32gi`), where people read it.
func (w window) name() string {
	high := "up"
	if w.high != nil {
		high = w.high.String()
	}
	return strings.ToLower(w.low.String() + "-" + high)
}

// ladder returns the windows [m,2m) [2m,4m) [4m,8m) and then everything from m up, so that several devices of unequal
// size still satisfy. A window whose upper end no quantity can express is left out.
func ladder(m resource.Quantity) []window {
	var out []window
	low := m
	for range windowCount {
		if low.Value() > math.MaxInt64/2 {
			break
		}
		high := *resource.NewQuantity(2*low.Value(), m.Format)
		out = append(out, window{low: low, high: &high})
		low = high
	}
	return append(out, window{low: m})
}

// wholeBytes rounds a quantity up to bytes (79.6Gi is a fraction of one) and keeps its format.
func wholeBytes(q resource.Quantity) resource.Quantity {
	return *resource.NewQuantity(q.Value(), q.Format)
}

// memoryKey says where a driver publishes memory; ok is false when it does not.
func memoryKey(d *profile.Driver) (k key, ok bool) {
	switch {
	case d.Memory.Capacity != "":
		return capacityKey(d.DriverName, d.Memory.Capacity), true
	case d.Memory.Attribute != "":
		return attributeKey(d.DriverName, d.Memory.Attribute), true
	}
	return key{}, false
}

// memoryTests are what must hold of the memory value for a device to be in the window.
func memoryTests(m profile.Memory, w window) []string {
	test := func(q resource.Quantity, operator string) string {
		if m.Capacity != "" {
			return fmt.Sprintf(".compareTo(quantity(%s)) %s 0", quote(q.String()), operator)
		}
		return fmt.Sprintf(" %s %d", operator, inUnits(q, m))
	}
	tests := []string{test(w.low, ">=")}
	if w.high != nil {
		tests = append(tests, test(*w.high, "<"))
	}
	return tests
}

// inUnits returns the least integer whose product with the unit is not below q. So `attribute >= inUnits(q)` is
// `attribute in bytes >= q`, and the same with <.
func inUnits(q resource.Quantity, m profile.Memory) int64 {
	factor, ok := m.Factor()
	if !ok {
		factor = 1
	}
	n := big.NewInt(q.Value())
	n.Add(n, big.NewInt(factor-1))
	return n.Div(n, big.NewInt(factor)).Int64()
}
