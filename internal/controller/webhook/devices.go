package webhook

import resourcev1 "k8s.io/api/resource/v1"

// devicesOf a claim are how many it asks for at most, of several alternatives the largest number; 0: it asks for all that there
// are.
func devicesOf(spec resourcev1.ResourceClaimSpec) int64 {
	var sum int64
	for _, r := range spec.Devices.Requests {
		var most int64
		if r.Exactly != nil {
			if r.Exactly.AllocationMode == resourcev1.DeviceAllocationModeAll {
				return 0
			}
			most = max(1, r.Exactly.Count)
		}
		for _, s := range r.FirstAvailable {
			if s.AllocationMode == resourcev1.DeviceAllocationModeAll {
				return 0
			}
			most = max(most, 1, s.Count)
		}
		sum += most
	}
	return sum
}
