// Package featuregate knows the Kubernetes feature gates that accelerators need: what each one is in which minor version,
// which components read it, what the flags of running components say of it, and what stands in its way. It reads no
// cluster: callers give it argument lists and versions.
package featuregate

import (
	"regexp"
	"strconv"
)

// Components that read feature gates, named as their binaries.
const (
	APIServer         = "kube-apiserver"
	ControllerManager = "kube-controller-manager"
	Scheduler         = "kube-scheduler"
	Kubelet           = "kubelet"
)

// Gates that code refers to. All others stand in the table only.
const (
	// DynamicResourceAllocation is the gate of DRA itself.
	DynamicResourceAllocation = "DynamicResourceAllocation"
	// ExtendedResource lets a DeviceClass serve an extended resource name.
	ExtendedResource = "DRAExtendedResource"
	// PrioritizedList is `firstAvailable` in a claim.
	PrioritizedList = "DRAPrioritizedList"
	// PartitionableDevices is partitions of a device in ResourceSlices.
	PartitionableDevices = "DRAPartitionableDevices"
	// AdminAccess is claims of devices that others hold.
	AdminAccess = "DRAAdminAccess"
	// DeviceTaints is taints of devices and the API DeviceTaintRule.
	DeviceTaints = "DRADeviceTaints"
	// AllAlpha and AllBeta set every gate of that stage which is not set by name.
	AllAlpha = "AllAlpha"
	AllBeta  = "AllBeta"
)

// Rendered are the gates that decide what the chart renders: those of the setting `cluster.featureGates` that are looked at.
var Rendered = []string{AdminAccess, DeviceTaints, ExtendedResource}

var versionPattern = regexp.MustCompile(`^v?1\.(\d+)([.+-].*)?$`)

// Minor returns the minor number of a Kubernetes version (`v1.34.4`, `1.34`, `v1.34.4+suffix`: 34). ok is false for
// anything else, including the versions that fake kubelets report.
func Minor(version string) (minor int, ok bool) {
	m := versionPattern.FindStringSubmatch(version)
	if m == nil {
		return 0, false
	}
	minor, err := strconv.Atoi(m[1])
	return minor, err == nil
}
