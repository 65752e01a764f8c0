// Package reservation decides how much memory kubelets of accelerator nodes should keep for the node's own daemons, and what
// may be written into a node group to get there. It reads no cluster: callers give it node memory, card counts and what
// the node group says.
//
// The words, all in bytes of one node:
//
//	allocatable = capacity - reservation - evictionHard - hugepages      (what pods may be given)
//	available   = capacity - what pods, daemons and huge pages take      (what the kubelet watches)
//
// With pods that use all they were given, available is reservation + evictionHard - what the daemons use. Soft eviction
// starts where that falls to evictionSoft, so the daemons have
//
//	headroom = reservation + evictionHard - evictionSoft
//
// for themselves. Where evictionSoft - evictionHard grows as fast as the reservation does, the headroom stays the same
// however large the node is: that is why a platform's own reservation fails on nodes with many accelerators, and why the
// recommendation has a term for it.
package reservation
