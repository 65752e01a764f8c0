package realnode

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
)

// slots are how many real nodes a machine has room for.
const slots = 512

// Network is the number of a node's own /24. The networks lie in 198.18.0.0/15, which is set aside for tests of network devices
// (RFC 2544): neither a site nor the internet uses them.
//
//	.0/30    the wire between the machine (.1) and the node (.2)
//	.128/25  the node's Pods, .129 is their gateway
type Network int

// PickNetwork returns a network that is neither recorded by another cluster nor in use on the machine. The caller serialises
// calls and records the answer before the next one.
func PickNetwork(taken map[Network]bool) (Network, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return 0, fmt.Errorf("network of the real node: the machine's addresses cannot be read: %w", err)
	}
	start := rand.IntN(slots)
	for i := range slots {
		n := Network((start + i) % slots)
		if !taken[n] && !n.inUse(addresses) {
			return n, nil
		}
	}
	return 0, fmt.Errorf("network of the real node: all %d networks of 198.18.0.0/15 are in use, take clusters down (ip -4 address)", slots)
}

func (n Network) inUse(addresses []net.Addr) bool {
	for _, a := range addresses {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Overlaps(n.whole()) {
			return true
		}
	}
	return false
}

func (n Network) address(last byte) netip.Addr {
	return netip.AddrFrom4([4]byte{198, 18 + byte(n>>8), byte(n), last})
}

func (n Network) whole() netip.Prefix { return netip.PrefixFrom(n.address(0), 24) }

// Host is the machine's address on the wire: what Pods reach a server of a test by.
func (n Network) Host() string { return n.address(1).String() }

// Node is the node's address.
func (n Network) Node() string { return n.address(2).String() }

// Pods is the range of the Pods' addresses.
func (n Network) Pods() string { return netip.PrefixFrom(n.address(128), 25).String() }

// Link is the name of the machine's end of the wire.
func (n Network) Link() string { return fmt.Sprintf("gpudra%d", int(n)) }
