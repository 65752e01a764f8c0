package nodegroups

import (
	"github.com/gpu-dra/gpu-dra/internal/nodegroup"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
	"github.com/gpu-dra/gpu-dra/internal/values"
)

const gibi = int64(1) << 30

// nodeMemory is the memory of the group's nodes in whole GiB: machines of one model differ by some MiB, and so does one machine
// after another kernel, which is no reason for a Helm revision.
func nodeMemory(m nodegroup.Memory, known *values.Memory) *values.Memory {
	r := m.Result
	switch {
	case !m.Certain:
		return known
	case r.LeastMemory == nil:
		return nil
	}
	out := &values.Memory{Smallest: wholeGiB(r.LeastMemory.Bytes), Largest: wholeGiB(r.MostMemory.Bytes)}
	if r.Largest != nil {
		out.Total = wholeGiB(r.Largest.Capacity)
	}
	return out
}

func wholeGiB(bytes int64) string {
	return reservation.Quantity((bytes + gibi/2) / gibi * gibi).String()
}

// advice rests on high-water counts and on settings, as the reservation itself does.
func advice(m nodegroup.Memory, known *values.Reservation) *values.Reservation {
	switch {
	case !m.Said():
		return nil
	case m.Mode == reservation.ModeOff:
		return &values.Reservation{Mode: m.Mode}
	case !m.Certain && known != nil:
		return &values.Reservation{Mode: m.Mode, Recommended: known.Recommended}
	}
	out := &values.Reservation{Mode: m.Mode}
	if n := m.Result.Largest; n != nil && n.Recommended > 0 {
		out.Recommended = reservation.Quantity(n.Recommended).String()
	}
	return out
}
