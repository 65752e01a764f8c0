package featuregate

// oldest and newest are the minors that the table was checked for. Kubernetes below 1.34 is not supported, but kubelets
// may be up to three minors older than the API server.
const (
	oldest = 31
	newest = 37
)

// table lists the gates of pkg/features/kube_features.go (Kubernetes 1.31 to 1.37) that accelerators depend on. Readers are
// the components without which the feature does not work. Left out: kube-controller-manager for DRAExtendedResource and
// DRAConsumableCapacity, which it reads for quota and eviction only.
//
// DRAFractionalCapacityRange is on by default only with --min-compatibility-version=1.37, which is not the default of 1.37.
var table = map[string]gate{
	DynamicResourceAllocation: {
		specs:   []spec{alpha(26), betaOff(32), ga(34), locked(35)},
		readers: []string{APIServer, ControllerManager, Scheduler, Kubelet},
	},
	"DRAControlPlaneController": {
		specs:   []spec{alpha(31), removedOff(32)},
		readers: []string{APIServer, ControllerManager, Scheduler},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRAAdminAccess": {
		specs:   []spec{alpha(32), beta(34), locked(36)},
		readers: []string{APIServer, ControllerManager, Scheduler},
		needs:   []string{DynamicResourceAllocation},
	},
	PrioritizedList: {
		specs:   []spec{alpha(33), beta(34), ga(36), locked(37)},
		readers: []string{APIServer, ControllerManager, Scheduler},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRAPartitionableDevices": {
		specs:   []spec{alpha(33), beta(36)},
		readers: []string{APIServer, Scheduler},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRAResourceClaimDeviceStatus": {
		specs:   []spec{alpha(32), beta(33), locked(37)},
		readers: []string{APIServer, Scheduler},
	},
	"DRADeviceTaints": {
		specs:   []spec{alpha(33), beta(36), ga(37)},
		readers: []string{APIServer, ControllerManager, Scheduler},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRADeviceTaintRules": {
		specs:   []spec{alpha(35), betaOff(36), ga(37)},
		readers: []string{APIServer, ControllerManager, Scheduler},
		needs:   []string{DynamicResourceAllocation, "DRADeviceTaints"},
	},
	ExtendedResource: {
		specs:   []spec{alpha(34), beta(36), locked(37)},
		readers: []string{APIServer, Scheduler, Kubelet},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRADeviceBindingConditions": {
		specs:   []spec{alpha(34), beta(36)},
		readers: []string{APIServer, Scheduler},
		needs:   []string{DynamicResourceAllocation, "DRAResourceClaimDeviceStatus"},
	},
	"DRAConsumableCapacity": {
		specs:   []spec{alpha(34), beta(36)},
		readers: []string{APIServer, Scheduler},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRASchedulerFilterTimeout": {
		specs:   []spec{beta(34)},
		readers: []string{Scheduler},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRAListTypeAttributes": {
		specs:   []spec{alpha(36)},
		readers: []string{APIServer, Scheduler},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRANodeAllocatableResources": {
		specs:   []spec{alpha(36)},
		readers: []string{APIServer, Scheduler, Kubelet},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRAResourceClaimGranularStatusAuthorization": {
		specs:   []spec{beta(36)},
		readers: []string{APIServer},
		needs:   []string{DynamicResourceAllocation, "DRAResourceClaimDeviceStatus"},
	},
	"DRAResourcePoolStatus": {
		specs:   []spec{alpha(36)},
		readers: []string{APIServer, ControllerManager},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRAWorkloadResourceClaims": {
		specs:   []spec{alpha(36), betaOff(37)},
		readers: []string{APIServer, ControllerManager, Scheduler, Kubelet},
		needs:   []string{DynamicResourceAllocation, "GenericWorkload"},
	},
	"DRADerivedAttributes": {
		specs:   []spec{alpha(37)},
		readers: []string{APIServer, Scheduler},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRADeviceCompatibilityGroups": {
		specs:   []spec{alpha(37)},
		readers: []string{APIServer, Scheduler},
		needs:   []string{DynamicResourceAllocation},
	},
	"DRAPartitionableDevicesType": {
		specs:   []spec{alpha(37)},
		readers: []string{APIServer, Scheduler},
		needs:   []string{DynamicResourceAllocation, "DRAPartitionableDevices", "DRAResourcePoolStatus"},
	},
	"DRAOptionalNodeOperations": {
		specs:   []spec{alpha(37)},
		readers: []string{APIServer, Scheduler, Kubelet},
		needs:   []string{DynamicResourceAllocation, "NodeDeclaredFeatures"},
	},
	"DRAFractionalCapacityRange": {
		specs:   []spec{betaOff(37)},
		readers: []string{APIServer, Scheduler},
		needs:   []string{DynamicResourceAllocation},
	},
	"KubeletPodResourcesDynamicResources":  {specs: []spec{alpha(27), beta(34), locked(36)}, readers: []string{Kubelet}},
	"KubeletPodResourcesGet":               {specs: []spec{alpha(27), beta(34), locked(36)}, readers: []string{Kubelet}},
	"KubeletPodResourcesListUseActivePods": {specs: []spec{deprecatedOn(34)}, readers: []string{Kubelet}},
	"ResourceHealthStatus": {
		specs:   []spec{alpha(31), beta(36)},
		readers: []string{APIServer, Kubelet},
		needs:   []string{DynamicResourceAllocation},
	},
	"ResourceHealthStatusMessage": {
		specs:   []spec{beta(36)},
		readers: []string{APIServer, Kubelet},
		needs:   []string{"ResourceHealthStatus"},
	},
	"SidecarContainers": {
		specs:   []spec{alpha(28), beta(29), locked(33), removedOn(37)},
		readers: []string{APIServer, Scheduler, Kubelet},
	},
	"DevicePluginCDIDevices": {specs: []spec{alpha(28), beta(29), locked(31), removedOn(34)}, readers: []string{Kubelet}},
	"MemoryManager":          {specs: []spec{alpha(21), beta(22), locked(32), removedOn(36)}, readers: []string{Kubelet}},
	"NodeDeclaredFeatures": {
		specs:   []spec{alpha(35), beta(36), locked(37)},
		readers: []string{APIServer, Scheduler, Kubelet},
	},
	"GenericWorkload": {
		specs:   []spec{alpha(35), betaOff(37)},
		readers: []string{APIServer, ControllerManager, Scheduler},
	},
	"GangScheduling": {specs: []spec{alpha(35), removedOff(37)}, readers: []string{APIServer, Scheduler}},
}
