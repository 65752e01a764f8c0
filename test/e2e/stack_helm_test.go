//go:build e2e

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

const stackSettings = `
distribution: Vanilla
nodeGroups:
- {name: h100, drivers: [nvidia], nodeSelector: {node.deckhouse.io/group: gpu-h100}}
- name: mig
  drivers: [nvidia]
  partitioning: Static
  nodeSelector: {node.deckhouse.io/group: gpu-a100-mig}
  tolerations: [{key: dedicated, operator: Equal, value: gpu, effect: NoSchedule}]
- {name: left-alone, drivers: [nvidia], passive: true, nodeSelector: {node.deckhouse.io/group: other}}
claimTemplates:
- {name: gpu-16gb-min, namespaces: [inference, research], driver: nvidia, minMemory: 16Gi}
`

const foreignClass = `
apiVersion: resource.k8s.io/v1
kind: DeviceClass
metadata: {name: gpu.nvidia.com, labels: {owner: somebody}}
spec: {selectors: [{cel: {expression: 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"].type == "gpu"'}}]}
`

// The whole stack by plain Helm from its package: beside a class that is somebody else's, with a node moved by hand from one
// manager to the other, one template for partitions and whole cards, an upgrade that changes it, and an uninstall.
func TestStackByHelm(t *testing.T) {
	t.Parallel()
	r := up(t)
	r.apply("examples/demo/nodes.yaml", "examples/demo/slices.yaml")
	r.addNode("other-1", "other")
	r.kubectl("create", "-f", r.file("class.yaml", foreignClass))
	for _, namespace := range []string{"inference", "research", plainNamespace} {
		r.create(&corev1.Namespace{ObjectMeta: metaName(namespace)})
	}
	class := r.uidOf(&resourcev1.DeviceClass{ObjectMeta: metaName("gpu.nvidia.com")})
	r.eventually("namespaces have what every namespace has", 30*time.Second, r.namespacesFilled("inference", "research", plainNamespace))
	before := r.now()

	// Helm itself refuses what it does not own; a class of one's own is left out by its name.
	out, err := r.tryInstall(stackSettings)
	require.Error(t, err)
	require.Contains(t, out, `DeviceClass "gpu.nvidia.com"`)
	require.Contains(t, out, "exists and cannot be imported into the current release")
	owned := stackSettings + "deviceClasses: {classes: {gpu.nvidia.com: {create: Never}}}\n"
	r.install(owned)
	r.startPlainController()

	r.eventually("driver on the nodes of its group", 60*time.Second, r.driverRuns(plainNamespace, "nvidia", "h100", "h100-1", "h100-2"))
	r.eventually("driver on tainted nodes too", 30*time.Second, r.driverRuns(plainNamespace, "nvidia", "mig", "mig-1"))
	r.eventually("no driver on a passive group", 30*time.Second, r.driverRuns(plainNamespace, "nvidia", "left-alone"))
	r.eventually("group ready", 90*time.Second, r.groupIs("h100", condition.Ready, "True", condition.GroupReady))
	r.eventually("group with partitions ready", 30*time.Second, r.groupIs("mig", condition.Ready, "True", condition.GroupReady))

	// Node by node: the label of a node goes over the setting of its group.
	r.kubectl("label", "node", "h100-2", v1alpha1.LabelPassive+"=true")
	r.eventually("node made passive -> its driver goes", 30*time.Second, r.driverRuns(plainNamespace, "nvidia", "h100", "h100-1"))
	r.kubectl("label", "node", "other-1", v1alpha1.LabelPassive+"=false")
	r.eventually("node of a passive group made active -> driver comes", 30*time.Second, r.driverRuns(plainNamespace, "nvidia", "left-alone", "other-1"))
	r.kubectl("label", "nodes", "h100-2", "other-1", v1alpha1.LabelPassive+"-")
	r.eventually("label gone -> driver back", 30*time.Second, r.driverRuns(plainNamespace, "nvidia", "h100", "h100-1", "h100-2"))
	r.eventually("label gone -> driver gone", 30*time.Second, r.driverRuns(plainNamespace, "nvidia", "left-alone"))

	// One template, one node: partitions as long as one fits, then the whole card.
	written := r.templatesWritten("gpu-16gb-min", "inference", "research")
	devices := map[string]string{}
	for _, pod := range []struct{ namespace, name, want string }{
		{"inference", "first", "gpu-0-mig-2g20gb-14-2"}, {"research", "second", "gpu-0-mig-3g40gb-9-4"}, {"inference", "third", "gpu-1"},
	} {
		devices[pod.name] = r.claimPod(pod.namespace, pod.name, "gpu-16gb-min", "mig-1")
		require.Equal(t, pod.want, devices[pod.name])
	}
	r.requireNarrow(r.kubectl("get", "gng"), r.kubectl("get", "gn"), r.kubectl("get", "gst"), r.kubectl("get", "gct"))

	// A changed meaning, and one group's driver with other settings.
	r.upgrade(strings.NewReplacer("minMemory: 16Gi", "minMemory: 8Gi", "partitioning: Static",
		"partitioning: Static\n  driverOverrides: {nvidia: {logLevel: 4}}").Replace(owned))
	r.templatesReplaced("gpu-16gb-min", written)
	require.EqualValues(t, 2, r.generation(plainNamespace, "nvidia", "mig"))
	require.EqualValues(t, 1, r.generation(plainNamespace, "nvidia", "h100"), "another group's driver is not touched")
	r.eventually("changed driver back on its node", 30*time.Second, r.driverRuns(plainNamespace, "nvidia", "mig", "mig-1"))
	for namespace, names := range map[string][]string{"inference": {"first", "third"}, "research": {"second"}} {
		for _, name := range names {
			require.NoError(t, r.podIs(namespace, name, corev1.PodRunning)(t.Context()))
			require.Equal(t, devices[name], r.deviceOf(namespace, name), "a running pod keeps its claim")
		}
	}
	r.endPods("inference")
	r.endPods("research")
	r.uninstall()
	r.onlyStaysLeft(before)
	require.Equal(t, class, r.uidOf(&resourcev1.DeviceClass{ObjectMeta: metaName("gpu.nvidia.com")}), "somebody else's class survives")
}
