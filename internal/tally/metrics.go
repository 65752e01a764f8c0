// Package tally sums a cluster up for its metrics: devices by who has them, claims that wait or idle, nodes, pools and
// conditions. It takes statuses and condensed claims and returns samples; it fetches and serves nothing.
//
// No label holds the name of a device, a claim or a node: the number of samples follows that of groups, products and namespaces.
package tally

import "slices"

// Metric is one family of gauges.
type Metric struct {
	Name string
	// Labels in the order of the values of a Sample.
	Labels []string
	// Help is one sentence, in the words of docs/metrics.md.
	Help string
}

// Sample is one value of a metric.
type Sample struct {
	*Metric
	Values []string
	Value  float64
}

// States of devices.
const (
	stateAllocated = "allocated"
	stateFree      = "free"
	stateTainted   = "tainted"
)

// The metrics, each described in docs/metrics.md; a test compares the two.
var (
	devices = &Metric{"gpu_dra_devices", []string{"group", "driver", "product", "state"},
		"Devices of accelerator drivers by node group and state: allocated to a claim, or published and tainted, or published and free."}
	claimsPending = &Metric{"gpu_dra_claims_pending", []string{"namespace", "reason"},
		"ResourceClaims for accelerators that have no devices yet, by the reason class."}
	claimPendingSeconds = &Metric{"gpu_dra_claim_pending_seconds_max", []string{"namespace", "reason"},
		"Age in seconds of the oldest ResourceClaim that gpu_dra_claims_pending counts."}
	claimsIdle = &Metric{"gpu_dra_claims_without_consumer", []string{"namespace"},
		"ResourceClaims that hold accelerators while no pod uses them."}
	nodes = &Metric{"gpu_dra_nodes", []string{"group", "state"},
		"Nodes of a group that are expected to have accelerators, and how many of them are registered or missing."}
	nodesDouble = &Metric{"gpu_dra_nodes_double_managed", []string{"group"},
		"Nodes on which a device plugin advertises the devices that a DRA driver has published too."}
	poolsIncomplete = &Metric{"gpu_dra_pools_incomplete", []string{"driver"},
		"Pools whose newest generation has not as many ResourceSlices as the driver announces."}
	poolsEmpty = &Metric{"gpu_dra_pools_empty", []string{"driver"},
		"Complete pools of accelerator drivers without a device."}
	memoryHeadroom = &Metric{"gpu_dra_memory_headroom_bytes", []string{"group"},
		"Memory that the daemons of a node may use before eviction starts when pods use all that they may; the smallest of the group."}
	memoryNeed = &Metric{"gpu_dra_memory_system_need_bytes", []string{"group"},
		"Memory that the daemons of a node are to have before eviction starts, where the recommended reservation aims at it: the setting memoryReservation.systemNeed."}
	conditions = &Metric{"gpu_dra_condition", []string{"kind", "name", "type", "status", "reason"},
		"1 for the present status and reason of each condition of the GPUStack, GPUNodeGroups and GPUClaimTemplates."}
)

var all = []*Metric{devices, claimsPending, claimPendingSeconds, claimsIdle, nodes, nodesDouble, poolsIncomplete, poolsEmpty,
	memoryHeadroom, memoryNeed, conditions}

// Metrics are all metrics there may be samples of.
func Metrics() []*Metric { return slices.Clone(all) }

// sample makes a Sample; values are those of the labels, in their order.
func (m *Metric) sample(value float64, values ...string) Sample { return Sample{m, values, value} }
