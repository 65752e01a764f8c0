//go:build e2e && full

package e2e

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/featuregate"
)

// newestKubernetes is the newest version that the table of gates was made from. `make test-full` builds its API server and scheduler.
const newestKubernetes = "1.37.2"

// From 1.35 on components check dependencies too. A gate that is off by default there may stop one that is on by default.
func TestPlannedGatesOnNewest(t *testing.T) {
	minor, _ := featuregate.Minor(newestKubernetes)
	require.Equal(t, featuregate.Newest, minor, "the table of gates is that of another version")
	plannedGates(t, newestKubernetes, slices.Concat(
		ofBoth("misspelt", "--feature-gates=DRAExtendedResources=true", "unrecognized feature gate: DRAExtendedResources"),
		ofBoth("removed", "--feature-gates=SidecarContainers=true", "unrecognized feature gate: SidecarContainers"),
		ofBoth("removed with its default", "--feature-gates=MemoryManager=true", "unrecognized feature gate: MemoryManager"),
		ofBoth("lock broken", "--feature-gates=DRAExtendedResource=false", "cannot set feature gate DRAExtendedResource to false, feature is locked to true"),
		ofBoth("prefix mixed", "--feature-gates=kube:DRADeviceTaints=true,DRADerivedAttributes=true", "do not mix use"),
		ofBoth("dependency off", "--feature-gates=DRAPartitionableDevicesType=true", "DRAPartitionableDevicesType is enabled, but depends on features that are disabled"),
		ofBoth("dependency of what is on by default off", "--feature-gates=DRADeviceTaints=false", "DRADeviceTaintRules is enabled, but depends on features that are disabled"),
		[]mistake{{"API of another version", apiServer, "--runtime-config=resource.k8s.io/v1alpha1=true", "resource.k8s.io/v1alpha1"}},
	))
}
