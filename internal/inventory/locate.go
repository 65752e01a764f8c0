package inventory

import (
	"cmp"
	"hash/maphash"
	"slices"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// DeviceID stands for the name of a device within its pool: a hash of it, in eight bytes instead of a name, of which only
// equality means something, within one process. Its low byte is empty.
type DeviceID uint64

// deviceBits are left free of the hash: which group of its part a device is in, and whether it is tainted.
const deviceBits = 8

// maxGroup is the last group that fits there; an API server allows 128 devices in a slice, so there are no more.
const maxGroup = 1<<(deviceBits-1) - 1

// IDOf returns the id of a device's name.
func IDOf(name string) DeviceID {
	return DeviceID(maphash.String(seed, name) >> deviceBits << deviceBits)
}

// published is a DeviceID with what is known of the device in the low byte.
type published uint64

func newPublished(id DeviceID, group int, tainted bool) published {
	p := published(id) | published(group)<<1
	if tainted {
		p |= 1
	}
	return p
}

func (p published) id() DeviceID  { return DeviceID(p >> deviceBits << deviceBits) }
func (p published) group() int    { return int(p>>1) & maxGroup }
func (p published) tainted() bool { return p&1 != 0 }

// Device is what the slices say of one device.
type Device struct {
	// Node that the device names, empty when it is reachable from several.
	Node string
	// Kind of the device, and the product that the driver publishes.
	Kind    v1alpha1.DeviceKind
	Product string
	// Tainted with NoSchedule or NoExecute.
	Tainted bool
}

// Locate finds a published device of a driver that a profile knows, by its pool (PoolKey) and id. While a driver replaces a
// pool there may be two of the name; the one of the newest generation counts. ok is false where there is none.
func Locate(ix Indexer, poolKey string, id DeviceID) (device Device, ok bool, err error) {
	members, err := ix.ByIndex(IndexPool, poolKey)
	if err != nil {
		return Device{}, false, err
	}
	var newest int64
	for _, m := range members {
		s, is := m.(*Slice)
		if !is || ok && s.generation <= newest {
			continue
		}
		if found, has := s.device(id); has {
			device, ok, newest = found, true, s.generation
		}
	}
	return device, ok, nil
}

func (s *Slice) device(id DeviceID) (Device, bool) {
	for i := range s.parts {
		p := &s.parts[i]
		at, _ := slices.BinarySearchFunc(p.devices, published(id), func(p, target published) int { return cmp.Compare(p, target) })
		if at == len(p.devices) || p.devices[at].id() != id {
			continue
		}
		g := p.groups[p.devices[at].group()].group.Value()
		return Device{Node: p.place.node.Value(), Kind: g.kind, Product: g.product, Tainted: p.devices[at].tainted()}, true
	}
	return Device{}, false
}
