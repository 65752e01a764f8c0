package claimstate

import (
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-dra/gpu-dra/internal/inventory"
)

// IndexNode finds claims by the node on which they hold devices.
const IndexNode = "gpu-dra/claim-node"

// NodeIndex is the client-go IndexFunc of IndexNode. Objects that are no claims have no values; there is no error, because an
// informer panics on one.
func NodeIndex(obj any) ([]string, error) {
	c, ok := obj.(*Claim)
	if !ok || c == nil || c.node == noNode || len(c.devices) == 0 {
		return nil, nil
	}
	return []string{c.Node()}, nil
}

// Transform is a client-go TransformFunc: it condenses ResourceClaims and leaves everything else as it is.
func Transform(obj any) (any, error) {
	if c, ok := obj.(*resourcev1.ResourceClaim); ok {
		return Condense(c), nil
	}
	return obj, nil
}

// Locate finds what the slices say of a device, by the pool's key.
type Locate func(pool string, id inventory.DeviceID) (device inventory.Device, ok bool)

// OnNode counts by driver the devices that claims hold on a node. The claims are those of IndexNode; what such a claim holds of
// a shared pool is on no node, and a device that several claims share is one.
func OnNode(claims []*Claim, node string, locate Locate) map[string]int32 {
	out := map[string]int32{}
	Each(claims, func(_ *Claim, h Held) {
		if found, ok := locate(h.Pool(), h.ID); ok && found.Node != node {
			return
		}
		out[h.Driver()]++
	})
	return out
}

// Each calls visit with every device that claims hold, one that several share once.
func Each(claims []*Claim, visit func(c *Claim, h Held)) {
	// Others can't be held twice, so that few are remembered.
	shared := map[Held]bool{}
	for _, c := range claims {
		for _, h := range c.devices {
			if h.Shared {
				if shared[h] {
					continue
				}
				shared[h] = true
			}
			visit(c, h)
		}
	}
}
