package reservation

import "math/big"

// Share is what the kubelet's static memory manager is to reserve on one NUMA node (`reservedMemory` in the kubelet's
// configuration).
type Share struct {
	// NUMANode is the node's number.
	NUMANode int
	// Bytes to reserve there, more than zero.
	Bytes int64
}

// NUMATrap is what to know before using the shares: validateReservedMemory in pkg/kubelet/cm/memorymanager/memory_manager.go
// compares the sums, validateState in policy_static.go there what the state file says with what is configured.
const NUMATrap = "with memoryManagerPolicy Static the kubelet does not start unless reservedMemory over all NUMA nodes equals " +
	"kubeReserved + systemReserved + evictionHard to the byte: change them together, give evictionHard as a quantity and not as " +
	"a percentage, and remove memory_manager_state in the kubelet's root directory before it starts with other figures"

// Shares splits the sum that the static memory manager demands, reservation + evictionHard, over NUMA nodes in proportion to
// their memory; memory[i] is that of NUMA node i in bytes, less its huge pages: the kubelet takes these and the share from the
// node's memory in unsigned numbers (getDefaultMachineState in policy_static.go), and what does not fit becomes a huge amount
// to hand out. Without memory everything is on NUMA node 0, which is what platforms
// that know no topology write. ok is false when the sum does not fit, or is zero.
//
// It is advice only: on a node with all of the sum on NUMA node 0, pods that want their memory from there find less of it
// than from the others, but the kubelet starts.
func (p Platform) Shares(capacity, reserved int64, memory []int64) (shares []Share, ok bool) {
	sum := clamp(reserved) + p.EvictionHard(capacity)
	if sum == 0 || sum > clamp(capacity) {
		return nil, false
	}
	if len(memory) == 0 {
		return []Share{{0, sum}}, true
	}
	total := new(big.Int)
	for _, m := range memory {
		total.Add(total, big.NewInt(clamp(m)))
	}
	if total.Cmp(big.NewInt(sum)) < 0 {
		return nil, false
	}
	return split(sum, memory, total), true
}

// split rounds every share down and hands the bytes that are left to the first shares that were rounded: no share exceeds
// its node's memory, and a share of nothing, which the kubelet refuses (pkg/kubelet/apis/config/validation/
// validation_reserved_memory.go), does not appear.
func split(sum int64, memory []int64, total *big.Int) []Share {
	whole := make([]int64, len(memory))
	rounded := make([]bool, len(memory))
	left := sum
	for i, m := range memory {
		quotient, rest := new(big.Int).QuoRem(new(big.Int).Mul(big.NewInt(sum), big.NewInt(clamp(m))), total, new(big.Int))
		whole[i], rounded[i] = quotient.Int64(), rest.Sign() > 0
		left -= whole[i]
	}
	var out []Share
	for i := range whole {
		if left > 0 && rounded[i] {
			whole[i]++
			left--
		}
		if whole[i] > 0 {
			out = append(out, Share{i, whole[i]})
		}
	}
	return out
}
