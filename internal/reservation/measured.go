package reservation

import "github.com/gpu-dra/gpu-dra/api/v1alpha1"

// Measured returns the bytes that the node's kubelet reserves now, whoever configured it: capacity - allocatable - evictionHard
// - huge pages. ok is false when a figure is missing or can't be true. Where evictionHard is configured otherwise than the
// platform does it, the difference counts as reserved.
func (p Platform) Measured(m *v1alpha1.NodeMemory) (reserved int64, ok bool) {
	capacity, ok := capacityOf(m)
	if !ok {
		return 0, false
	}
	// A kubelet that has nothing to allocate does not run: zero is a figure that nobody reported.
	allocatable, ok := bytesOf(m.Allocatable)
	if !ok || allocatable == 0 || allocatable > capacity {
		return 0, false
	}
	var huge int64
	if m.HugePages != nil {
		if huge, ok = bytesOf(*m.HugePages); !ok {
			return 0, false
		}
	}
	return max(capacity-allocatable-p.EvictionHard(capacity)-huge, 0), true
}

// Headroom returns the bytes that daemons of a node with this capacity may use before soft eviction starts, when pods use all
// that is allocatable. Below zero, pods alone bring soft eviction about.
func (p Platform) Headroom(capacity, reserved int64) int64 {
	return reserved + p.EvictionHard(capacity) - p.EvictionSoft(capacity)
}

func capacityOf(m *v1alpha1.NodeMemory) (int64, bool) {
	if m == nil {
		return 0, false
	}
	n, ok := bytesOf(m.Capacity)
	return n, ok && n > 0
}
