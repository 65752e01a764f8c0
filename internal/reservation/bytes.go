package reservation

import (
	"strconv"

	"k8s.io/apimachinery/pkg/api/resource"
)

const mebi = int64(1) << 20

// maxBytes is the largest amount that is believed, 8 PiB. Below it a float64 holds every byte exactly, and sums and
// percentages stay within an int64.
const maxBytes = int64(1) << 53

// bytesOf returns a quantity in bytes. ok is false for amounts that no memory has.
func bytesOf(q resource.Quantity) (n int64, ok bool) {
	if q.Sign() < 0 || q.CmpInt64(maxBytes) > 0 {
		return 0, false
	}
	return q.Value(), true
}

// settingBytes returns a quantity of the settings in bytes, the nearest believable amount; 0 when it is not set.
func settingBytes(q *resource.Quantity) int64 {
	switch {
	case q == nil || q.Sign() < 0:
		return 0
	case q.CmpInt64(maxBytes) > 0:
		return maxBytes
	}
	return q.Value()
}

func clamp(n int64) int64 { return min(max(n, 0), maxBytes) }

// roundUp returns the next multiple of unit; n is not negative.
func roundUp(n, unit int64) int64 { return (n + unit - 1) / unit * unit }

// Quantity returns bytes as the API shows memory.
func Quantity(n int64) *resource.Quantity { return resource.NewQuantity(n, resource.BinarySI) }

// inMi writes bytes as Mi, rounded up: sentences compare figures, and 25068Mi compares with 23564Mi better than with 24Gi.
func inMi(n int64) string {
	if n < 0 {
		return "-" + inMi(-n)
	}
	return strconv.FormatInt(roundUp(n, mebi)/mebi, 10) + "Mi"
}
