package v1alpha1

import "k8s.io/apimachinery/pkg/api/resource"

// DeviceKind says what a published device is to a user, whatever its driver calls it.
// +kubebuilder:validation:Enum=Whole;Partition;Passthrough;Other
type DeviceKind string

const (
	// DeviceWhole is a whole card.
	DeviceWhole DeviceKind = "Whole"
	// DevicePartition is a part of a card: a MIG instance, a compute partition.
	DevicePartition DeviceKind = "Partition"
	// DevicePassthrough is a whole card bound to VFIO for a virtual machine.
	DevicePassthrough DeviceKind = "Passthrough"
	// DeviceOther is a device whose type the driver's profile does not name.
	DeviceOther DeviceKind = "Other"
)

// DeviceCounts counts devices of a node, a group or a pool. Devices of a pool count only when they stand in slices of its
// newest generation.
type DeviceCounts struct {
	// Physical is the number of distinct cards: counter sets, parents of partitions, and devices that have neither.
	Physical int32 `json:"physical"`
	// Published is the number of devices in the slices; possible partitions of one card each count.
	Published int32 `json:"published"`
	// AllocatableWhole is the number of cards whose whole device is published.
	AllocatableWhole int32 `json:"allocatableWhole"`
	// Tainted is the number of published devices with a NoSchedule or NoExecute taint.
	// +optional
	Tainted int32 `json:"tainted,omitempty"`
}

// Plus returns the sum of two counts.
func (c DeviceCounts) Plus(o DeviceCounts) DeviceCounts {
	return DeviceCounts{
		Physical:         c.Physical + o.Physical,
		Published:        c.Published + o.Published,
		AllocatableWhole: c.AllocatableWhole + o.AllocatableWhole,
		Tainted:          c.Tainted + o.Tainted,
	}
}

// DeviceGroup is a number of like devices: same driver, kind, product and memory.
type DeviceGroup struct {
	// Driver is the DRA driver's name, as in ResourceSlice spec.driver.
	Driver string `json:"driver"`
	// Kind is what the device is to a user.
	Kind DeviceKind `json:"kind"`
	// Type is the driver's own word for the kind (`mig`, `amdgpu-partition`), empty when it publishes none.
	// +optional
	Type string `json:"type,omitempty"`
	// Product is the product name that the driver publishes, empty when it publishes none.
	// +optional
	Product string `json:"product,omitempty"`
	// Partition is the partition profile (`1g.10gb`), empty for whole devices.
	// +optional
	Partition string `json:"partition,omitempty"`
	// Memory of one device. Absent when the driver publishes none, or a zero that its profile declares unknown.
	// +optional
	Memory *resource.Quantity `json:"memory,omitempty"`
	// Count is the number of published devices.
	Count int32 `json:"count"`
	// Tainted is how many of them carry a NoSchedule or NoExecute taint.
	// +optional
	Tainted int32 `json:"tainted,omitempty"`
}

// PoolState is one pool of ResourceSlices at its newest generation.
type PoolState struct {
	// Driver is the DRA driver's name.
	Driver string `json:"driver"`
	// Name of the pool, unique within the driver.
	Name string `json:"name"`
	// Generation is the newest generation seen.
	Generation int64 `json:"generation"`
	// Slices is the number of slices seen of that generation.
	Slices int32 `json:"slices"`
	// ExpectedSlices is the number of slices the driver announces for it (resourceSliceCount).
	ExpectedSlices int32 `json:"expectedSlices"`
	// Complete is true when all announced slices of the newest generation are there.
	Complete bool `json:"complete"`
	// StaleSlices is the number of slices of older generations that the driver has not removed yet.
	// +optional
	StaleSlices int32 `json:"staleSlices,omitempty"`
	// Devices counts the pool's devices.
	Devices DeviceCounts `json:"devices"`
}
