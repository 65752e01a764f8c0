package featuregate

import "slices"

// Reader is a component that reads a gate.
type Reader struct {
	// Component as its binary is named.
	Component string
	// File of the Kubernetes sources in which it reads the gate.
	File string
	// Minor of the sources that have the file; 0 is the newest minor that has the gate.
	Minor int
}

const (
	claimSpec       = "pkg/api/resourceclaimspec/util.go"
	podSpec         = "pkg/api/pod/util.go"
	claimStrategy   = "pkg/registry/resource/resourceclaim/strategy.go"
	sliceStrategy   = "pkg/registry/resource/resourceslice/strategy.go"
	apiValidation   = "pkg/apis/resource/validation/validation.go"
	controllerRoles = "plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go"
	resourceApp     = "cmd/kube-controller-manager/app/resource.go"
	claimController = "pkg/controller/resourceclaim/controller.go"
	schedulerPlugin = "pkg/scheduler/framework/plugins/feature/feature.go"
	podResources    = "pkg/kubelet/apis/podresources/server_v1.go"
)

// readers are the components without which the feature of a gate does not work, by hand: the sources do not list them. The
// test of internal/gen/gates looks each one up. Left out: kube-controller-manager for DRAExtendedResource, which it reads for
// quota only.
var readers = map[string][]Reader{
	DynamicResourceAllocation: {
		{Component: APIServer, File: podSpec}, {Component: ControllerManager, File: resourceApp},
		{Component: Scheduler, File: schedulerPlugin}, {Component: Kubelet, File: "pkg/kubelet/cm/container_manager_linux.go"},
	},
	"DRAControlPlaneController": {
		{Component: APIServer, File: claimStrategy}, {Component: Scheduler, File: "pkg/scheduler/framework/plugins/registry.go"},
	},
	"DRAAdminAccess": {
		{Component: APIServer, File: claimSpec}, {Component: ControllerManager, File: claimController}, {Component: Scheduler, File: schedulerPlugin},
	},
	PrioritizedList: {
		{Component: APIServer, File: claimSpec}, {Component: ControllerManager, File: claimController}, {Component: Scheduler, File: schedulerPlugin},
	},
	PartitionableDevices: {
		{Component: APIServer, File: sliceStrategy}, {Component: Scheduler, File: schedulerPlugin},
	},
	"DRAResourceClaimDeviceStatus": {
		{Component: APIServer, File: claimStrategy}, {Component: Scheduler, File: schedulerPlugin},
	},
	"DRADeviceTaints": {
		{Component: APIServer, File: sliceStrategy}, {Component: ControllerManager, File: resourceApp}, {Component: Scheduler, File: schedulerPlugin},
	},
	"DRADeviceTaintRules": {
		{Component: APIServer, File: controllerRoles},
		{Component: ControllerManager, File: "pkg/controller/devicetainteviction/device_taint_eviction.go"},
		{Component: Scheduler, File: "pkg/scheduler/scheduler.go"},
	},
	ExtendedResource: {
		{Component: APIServer, File: "pkg/registry/resource/deviceclass/strategy.go"}, {Component: Scheduler, File: schedulerPlugin},
		{Component: Kubelet, File: "pkg/kubelet/lifecycle/predicate.go"},
	},
	"DRADeviceBindingConditions": {
		{Component: APIServer, File: sliceStrategy}, {Component: Scheduler, File: schedulerPlugin},
	},
	"DRAConsumableCapacity": {
		{Component: APIServer, File: claimSpec}, {Component: Scheduler, File: schedulerPlugin},
	},
	"DRASchedulerFilterTimeout": {{Component: Scheduler, File: schedulerPlugin}},
	"DRAListTypeAttributes": {
		{Component: APIServer, File: sliceStrategy}, {Component: Scheduler, File: schedulerPlugin},
	},
	"DRANodeAllocatableResources": {
		{Component: APIServer, File: sliceStrategy}, {Component: Scheduler, File: schedulerPlugin}, {Component: Kubelet, File: "pkg/kubelet/cm/helpers_linux.go"},
	},
	"DRAResourceClaimGranularStatusAuthorization": {{Component: APIServer, File: claimStrategy}},
	"DRAResourcePoolStatus": {
		{Component: APIServer, File: controllerRoles}, {Component: ControllerManager, File: resourceApp},
	},
	"DRAWorkloadResourceClaims": {
		{Component: APIServer, File: "pkg/registry/scheduling/podgroup/strategy.go"}, {Component: ControllerManager, File: claimController},
		{Component: Scheduler, File: schedulerPlugin}, {Component: Kubelet, File: "pkg/kubelet/cm/dra/manager.go"},
	},
	"DRADerivedAttributes": {
		{Component: APIServer, File: claimSpec}, {Component: Scheduler, File: schedulerPlugin},
	},
	"DRADeviceCompatibilityGroups": {
		{Component: APIServer, File: sliceStrategy}, {Component: Scheduler, File: schedulerPlugin},
	},
	"DRAPartitionableDevicesType": {{Component: APIServer, File: sliceStrategy}},
	"DRAOptionalNodeOperations": {
		{Component: APIServer, File: sliceStrategy}, {Component: Scheduler, File: schedulerPlugin}, {Component: Kubelet, File: "pkg/kubelet/cm/dra/claiminfo.go"},
	},
	"DRAFractionalCapacityRange": {
		{Component: APIServer, File: apiValidation}, {Component: Scheduler, File: schedulerPlugin},
	},
	"KubeletPodResourcesDynamicResources":  {{Component: Kubelet, File: podResources, Minor: 35}},
	"KubeletPodResourcesGet":               {{Component: Kubelet, File: "pkg/kubelet/kubelet.go"}},
	"KubeletPodResourcesListUseActivePods": {{Component: Kubelet, File: podResources}},
	"ResourceHealthStatus": {
		{Component: APIServer, File: podSpec}, {Component: Kubelet, File: "pkg/kubelet/cm/container_manager_linux.go"},
	},
	"ResourceHealthStatusMessage": {
		{Component: APIServer, File: podSpec}, {Component: Kubelet, File: "pkg/kubelet/cm/dra/manager.go"},
	},
	"SidecarContainers": {
		{Component: APIServer, File: podSpec}, {Component: Scheduler, File: schedulerPlugin},
		{Component: Kubelet, File: "pkg/kubelet/kuberuntime/kuberuntime_manager.go", Minor: 32},
	},
	"LegacySidecarContainers": {{Component: Kubelet, File: "pkg/kubelet/kuberuntime/kuberuntime_manager.go"}},
	"DevicePluginCDIDevices":  {{Component: Kubelet, File: "pkg/kubelet/cm/devicemanager/pod_devices.go"}},
	"MemoryManager":           {{Component: Kubelet, File: "pkg/kubelet/allocation/allocation_manager.go"}},
	"NodeDeclaredFeatures": {
		{Component: APIServer, File: "pkg/registry/core/node/strategy.go"}, {Component: Scheduler, File: schedulerPlugin},
		{Component: Kubelet, File: "pkg/kubelet/kubelet.go"},
	},
	"GenericWorkload": {
		{Component: APIServer, File: "pkg/registry/scheduling/rest/storage_scheduling.go"},
		{Component: ControllerManager, File: "cmd/kube-controller-manager/app/scheduling.go"}, {Component: Scheduler, File: schedulerPlugin},
	},
	"GangScheduling": {{Component: Scheduler, File: schedulerPlugin}},
}

// ReadersOf returns the components that read a gate, with the place in the Kubernetes sources, in the order of the request's
// way through the cluster.
func ReadersOf(gate string) []Reader { return slices.Clone(readers[gate]) }

// Readers returns the components that read a gate, sorted; nil for a gate that the table does not have.
func Readers(gate string) []string {
	var out []string
	for _, r := range readers[gate] {
		out = append(out, r.Component)
	}
	slices.Sort(out)
	return out
}
