// Package reservation decides how much memory kubelets of accelerator nodes should keep for the node's own daemons, and what
// may be written into a node group to get there. It reads no cluster: callers give it node memory, card counts and what
// the node group says.
//
// The words, all in bytes of one node:
//
//	allocatable = capacity - reservation - evictionHard - hugepages      (what pods may be given)
//	available   = capacity - what pods and daemons take                  (what the kubelet watches)
//
// The first is GetNodeAllocatableReservation in pkg/kubelet/cm/node_container_manager_linux.go and the last step of MachineInfo
// in pkg/kubelet/nodestatus/setters.go, the second the working set of the root cgroup (k8s.io/kubernetes v1.34 to v1.37).
//
// With pods that use all they were given, available is reservation + evictionHard - what the daemons use. Soft eviction
// starts where that falls to evictionSoft, so the daemons have
//
//	headroom = reservation + evictionHard - evictionSoft
//
// for themselves. Huge pages that are set aside are in no working set (the root's is anonymous and file memory:
// rootStatsFromMeminfo in fs2/memory.go of github.com/opencontainers/cgroups), so on a node that has some the kubelet sees that
// much more available than there is, and evicts later than this; the headroom is what is really there. Where evictionSoft - evictionHard grows as fast as the reservation does, the headroom stays the same
// however large the node is: that is why a platform's own reservation fails on nodes with many accelerators, and why the
// recommendation has a term for it.
package reservation
