// Package inventory says what accelerators a cluster has, from its ResourceSlices.
//
// It works in two steps. [Digester.Digest] condenses one ResourceSlice to a [Slice] of a few hundred bytes, whatever the
// number of its devices; informers keep these instead of the objects. [Build], [ForNode] and [ForCluster] put the digests
// of pools together. Nothing here fetches or writes, and nothing depends on the order of its input.
//
// The words:
//
//   - A pool is what one driver publishes under one pool name. Only slices of its newest generation count; older ones are
//     stale. It is complete when as many slices are there as the driver announces, neither fewer nor more.
//   - Published devices are the devices in the slices. Every possible partition of a card is one.
//   - Physical cards are counter sets, parents of partitions, and devices with neither. What is seen on one device belongs
//     to one card: a counter set, an identity (the uuid of a whole device, the parent's uuid of a partition) and a bus
//     address. A device that consumes several counter sets stands on several cards.
//   - AllocatableWhole are cards whose whole device is published. A passthrough device is not counted here: it goes to
//     virtual machines only.
//   - Tainted devices carry a NoSchedule or NoExecute taint. Effect None only informs.
//   - A card is published twice when its whole device and a partition are both there and no counters keep the scheduler
//     from giving out both.
//   - A driver is registered on a node when it has a complete pool with at least one device that names the node. Pools
//     that name no node (allNodes, nodeSelector) are shared: counted once, registering no node.
//
// Drivers that a profile lists as otherDrivers are known and hold no accelerators: their pools are shown, their devices
// are never counted. Drivers that no profile knows are counted by generic rules: kind Other, a card for each counter set
// and for each device that consumes none.
package inventory
