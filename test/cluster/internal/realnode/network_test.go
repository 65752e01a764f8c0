package realnode

import (
	"net"
	"net/netip"
	"testing"
)

func TestNetworksAreApart(t *testing.T) {
	for _, n := range []Network{0, 1, 255, 256, slots - 1} {
		pods := netip.MustParsePrefix(n.Pods())
		for _, address := range []string{n.Host(), n.Node()} {
			a := netip.MustParseAddr(address)
			if pods.Contains(a) || !n.whole().Contains(a) || !netip.MustParsePrefix("198.18.0.0/15").Contains(a) {
				t.Errorf("network %d: address %s, Pods %s", n, a, pods)
			}
		}
		if n.whole().Overlaps((n + 1).whole()) {
			t.Errorf("networks %d and %d overlap", n, n+1)
		}
		if len(n.Link()) > 15 {
			t.Errorf("link %s: the kernel takes 15 bytes", n.Link())
		}
	}
}

func TestPickNetworkTakesAFreeOne(t *testing.T) {
	taken := map[Network]bool{}
	for n := range Network(slots) {
		taken[n] = n != 300
	}
	if n, err := PickNetwork(taken); err != nil || n != 300 {
		t.Errorf("network %d, %v; want the only free one, 300", n, err)
	}
	taken[300] = true
	if n, err := PickNetwork(taken); err == nil {
		t.Errorf("network %d although all are taken", n)
	}
	used := Network(7)
	if !used.inUse([]net.Addr{&net.IPNet{IP: net.ParseIP(used.Host()), Mask: net.CIDRMask(30, 32)}}) {
		t.Error("an address of the machine is not seen")
	}
	if used.inUse([]net.Addr{&net.IPNet{IP: net.ParseIP("192.0.2.1"), Mask: net.CIDRMask(24, 32)}}) {
		t.Error("a foreign address is taken for the network's")
	}
}
