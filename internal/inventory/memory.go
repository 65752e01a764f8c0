package inventory

import (
	"math"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// unknownMemory is the memory of a device that publishes none, or nothing that can be a size.
const unknownMemory int64 = -1

// memory of a device in bytes, or unknownMemory.
func (r *reader) memory(d *resourcev1.Device) int64 {
	bytes := unknownMemory
	if c, ok := lookup(d.Capacity, r.memoryCapacity); ok {
		bytes = quantityBytes(&c.Value)
	} else if a, ok := lookup(d.Attributes, r.memoryAttribute); ok && a.IntValue != nil {
		bytes = product(*a.IntValue, r.unit)
	}
	if bytes == 0 && r.profile.Memory.ZeroMeansUnknown {
		return unknownMemory
	}
	return bytes
}

// quantityBytes is the quantity as whole bytes, rounded up.
func quantityBytes(q *resource.Quantity) int64 {
	bytes, ok := q.AsInt64()
	if !ok {
		// A fraction, or more than 64 bits hold: Value overflows silently on the latter, and parsing cuts binary units off at
		// the largest number of 64 bits, so that number is no size either.
		if q.CmpInt64(math.MaxInt64) >= 0 {
			return unknownMemory
		}
		bytes = q.Value()
	}
	if bytes < 0 {
		return unknownMemory
	}
	return bytes
}

// product is n units, unknownMemory when that is negative or does not fit.
func product(n, unit int64) int64 {
	if n < 0 || unit <= 0 || n > math.MaxInt64/unit {
		return unknownMemory
	}
	return n * unit
}

// quantity writes bytes as a person would: in binary units where it is a whole number of Mi, in decimal ones otherwise. The
// driver's own spelling is not kept, so that equal sizes are one group.
func quantity(bytes int64) *resource.Quantity {
	format := resource.DecimalSI
	if bytes%(1<<20) == 0 {
		format = resource.BinarySI
	}
	return resource.NewQuantity(bytes, format)
}
