package charttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/schematest"
	"github.com/gpu-dra/gpu-dra/openapi"
)

// elsewhere are the tests that vary what the chart does not read, or reads in other renders than that of testdata/effects.yaml, by
// their package below internal/ and their name. Of a setting each leaf is named: one that is new has to find its test.
var elsewhere = map[string][]string{
	"inventory.TestCorpus": {
		"customDrivers[].typeAttribute", "customDrivers[].types", "customDrivers[].parentAttribute", "customDrivers[].identityAttribute",
		"customDrivers[].productAttribute", "customDrivers[].partitionAttribute",
		"customDrivers[].memory.capacity", "customDrivers[].memory.attribute", "customDrivers[].memory.unit",
	},
	"inventory.TestFixtures":                {"customDrivers[].addressAttribute", "customDrivers[].memory.zeroMeansUnknown"},
	"claim.TestClaimsOnVendorsDevices":      {"customDrivers[].memory.missingOn"},
	"claim.TestSatisfiable":                 {"customDrivers[].memory.nominalBelow"},
	"claim.TestEveryTemplateOfEveryProfile": {"customDrivers[].topology.PCIeRoot", "customDrivers[].topology.NUMANode", "customDrivers[].classes[].choice"},
	"claim.TestBuildSaysWhatIsMeant": {
		"customDrivers[].sharing.apiVersion", "customDrivers[].sharing.kinds",
		"customDrivers[].sharing.strategies.*.kinds", "customDrivers[].sharing.strategies.*.params",
	},
	"claim.TestDriverGates":                              {"customDrivers[].sharing.strategies.*.gates"},
	"gpunode.TestSoleManagerNamesTraces":                 {"customDrivers[].managers[].name"},
	"controller/stacks.TestFactsOfTheCluster":            {"customDrivers[].managers[].namespace"},
	"platform.TestNodeGroupsFound":                       {"customDrivers[].managers[].nodeGroupField"},
	"controller/observe.TestDriverPodsSelector":          {"customDrivers[].podSelector"},
	"featuregate.TestNeeded":                             {"customDrivers[].kubernetesGates[].gate", "customDrivers[].kubernetesGates[].partitioning", "customDrivers[].kubernetesGates[].driverGate", "kubernetesFeatureGates.extraRequired"},
	"controller/webhook.TestDecisions":                   {"customDrivers[].exporter.sidecar.args", "customDrivers[].exporter.sidecar.env[].name", "customDrivers[].exporter.sidecar.env[].value", "customDrivers[].exporter.sidecar.env[].field"},
	"sidecar.TestMemoryOfTheSidecar":                     {"customDrivers[].exporter.sidecar.resources.limits"},
	"nodegroup.TestExpectedDevices":                      {"nodeGroups[].expectedDevices"},
	"reservation.TestApplyAndRestore":                    {"memoryReservation.mode"},
	"reservation.TestRecommendedGrowsWithWhatIsAskedFor": {"memoryReservation.systemNeed", "memoryReservation.base", "memoryReservation.perDevice", "memoryReservation.overhead"},
	"reservation.TestRecommended":                        {"memoryReservation.minDevices"},
	"reservation.TestEffective": {
		"nodeGroups[].memoryReservation.mode", "nodeGroups[].memoryReservation.systemNeed", "nodeGroups[].memoryReservation.base",
		"nodeGroups[].memoryReservation.perDevice", "nodeGroups[].memoryReservation.overhead", "nodeGroups[].memoryReservation.minDevices",
	},
	// Read by the chart, in other renders.
	"charttest.TestExporterAndItsClaim":                      {"customDrivers[].exporter.adminClaim.otherwise"},
	"charttest.TestForeignClassesUnderHooks":                 {"deviceClasses.create"},
	"charttest.TestDeviceClasses":                            {"deviceClasses.extendedResources"},
	"charttest.TestExporterRunsWhereItMay":                   {"exporter.mode"},
	"charttest.TestSidecarsOfAllNamespacesHaveOnePodMonitor": {"exporter.sidecar.namespaces", "exporter.sidecar.interval"},
	"charttest.TestImages":                                   {"controller.image.digest"},
	"charttest.TestGoldenWebhook":                            {"controller.webhook.certificates", "controller.webhook.failurePolicy"},
}

func TestWhatTheChartDoesNotReadIsVariedElsewhere(t *testing.T) {
	leaves := map[string]bool{}
	leafPaths(schematest.Structural(t, openapi.ConfigValues), "", leaves)
	varied := map[string]bool{}
	for test, settings := range elsewhere {
		dot := strings.LastIndex(test, ".")
		files, err := filepath.Glob(filepath.Join(Root(), "internal", test[:dot], "*_test.go"))
		require.NoError(t, err)
		found := false
		for _, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			found = found || strings.Contains(string(data), "\nfunc "+test[dot+1:]+"(t *testing.T) {")
		}
		assert.True(t, found, "%s: there is no such test", test)
		for _, path := range settings {
			_, reader := readerOf(path)
			assert.True(t, leaves[path] && reader == byController, "%s: no setting, or one that the chart's own test varies", path)
			varied[path] = true
		}
	}
	for path := range leaves {
		if _, reader := readerOf(path); reader == byController {
			assert.True(t, varied[path], "%s: say in elsewhere which test varies it", path)
		}
	}
}
