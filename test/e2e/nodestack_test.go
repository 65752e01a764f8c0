//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// watchedExample is the example driver's profile, for cards that a device plugin could have and another manager could run, with an
// exporter on every node.
func watchedExample(t *testing.T) string {
	t.Helper()
	profile := parsed(t, repositoryFile(t, "profiles", "drivers", "example.yaml"))
	profile["pluginResources"] = []string{"example.com/gpu"}
	profile["managers"] = []tree{{"name": "other", "nodeLabel": "example.com/managed"}}
	profile["exporter"] = watchingExporter(t)
	settings, err := yaml.Marshal(tree{"customDrivers": []tree{profile}})
	require.NoError(t, err)
	return exampleSettings + "exporter: {mode: DaemonSet, interval: 1s}\n" + string(settings)
}

// The chart as it is, on a real kubelet: controller, driver, exporter and guards run in their containers with their rights, the driver
// publishes its devices, a pod gets one, the exporter names it, and the kubelet's reservation is what gpu-dra recommends.
func TestRealNode(t *testing.T) {
	t.Parallel()
	r, node := upReal(t)
	node.loadProduct()
	node.loadExample()
	r.create(&corev1.Namespace{ObjectMeta: metaName("inference")})
	r.kubectl("label", "node", node.Name, "accelerator=fake", "example.com/managed=true")
	r.kubectl("patch", "node", node.Name, "--subresource=status", "--type=merge", "-p", `{"status":{"capacity":{"example.com/gpu":"8"}}}`)
	r.install(watchedExample(t))

	node.guardsHold(t)
	r.eventually("clear node -> driver runs", 90*time.Second, r.driverRuns(plainNamespace, "example", "fake", node.Name))
	r.eventually("clear node -> exporter runs", 90*time.Second, r.daemonSetRuns(plainNamespace, "exporter-example-fake", node.Name))
	r.eventually("driver published", 60*time.Second, r.nodeIs(node.Name, condition.Registered, "True", condition.NodeRegistered))
	r.eventually("group ready", 60*time.Second, r.groupIs("fake", condition.Ready, "True", condition.GroupReady))
	require.Len(t, r.slicesOf(t.Context(), exampleDriver, node.Name), 1)

	node.engineGetsItsDevice(t)
	node.reservesMemory(t)
	node.exporterNeedsItsRights(t)
	node.evictsWhereHeadroomEnds(t)
	node.planReadsGates(t)
	node.down(t)
}

// guarded are the pods of the driver and of its exporter.
var guarded = []string{"driver-example", "exporter-example"}

// guards returns the pods whose guards have not ended, by component, and the status of the guards.
func (n *realNode) guards(ctx context.Context) (map[string]corev1.Pod, error) {
	out := map[string]corev1.Pod{}
	for _, component := range guarded {
		var pods corev1.PodList
		if err := n.r.client.List(ctx, &pods, client.InNamespace(plainNamespace), client.MatchingLabels{"app.kubernetes.io/component": component}); err != nil {
			return nil, err
		}
		if len(pods.Items) != 1 || len(pods.Items[0].Status.InitContainerStatuses) != 1 {
			return nil, fmt.Errorf("%d pods of %s", len(pods.Items), component)
		}
		if s := pods.Items[0].Status.InitContainerStatuses[0]; s.Name != "guard" || s.State.Running == nil || pods.Items[0].Status.Phase != corev1.PodPending {
			return nil, fmt.Errorf("%s of %s is %+v, pod %s", s.Name, component, s.State, pods.Items[0].Status.Phase)
		}
		out[component] = pods.Items[0]
	}
	return out, nil
}

// guardsHold waits until the guards of driver and exporter say what they wait for, and takes that away.
func (n *realNode) guardsHold(t *testing.T) {
	t.Helper()
	r := n.r
	var pods map[string]corev1.Pod
	r.eventually("guards run", 90*time.Second, func(ctx context.Context) (err error) {
		pods, err = n.guards(ctx)
		return err
	})
	r.eventually("guards name the label and the device plugin", 30*time.Second, func(context.Context) error {
		for component, pod := range pods {
			said := n.logs(plainNamespace, pod.Name, "guard")
			for _, word := range []string{"example.com/managed", "example.com/gpu: 8"} {
				if !strings.Contains(said, word) {
					return fmt.Errorf("%s: %q is not in %s", component, word, said)
				}
			}
		}
		return nil
	})
	r.kubectl("label", "node", n.Name, "example.com/managed-")
	r.never("label gone -> guards still wait for the device plugin", 7*time.Second, func(ctx context.Context) error {
		_, err := n.guards(ctx)
		return err
	})
	require.Empty(t, r.slicesOf(t.Context(), exampleDriver, n.Name))
	r.kubectl("patch", "node", n.Name, "--subresource=status", "--type=json", "-p",
		`[{"op":"remove","path":"/status/capacity/example.com~1gpu"},{"op":"remove","path":"/status/allocatable/example.com~1gpu"}]`)
}

// engineGetsItsDevice runs a pod with a claim: what the driver says about its device is in the container, by CDI, and the
// exporter says who has it.
func (n *realNode) engineGetsItsDevice(t *testing.T) {
	t.Helper()
	r := n.r
	r.templatesWritten("fake-gpu", "inference")
	engine := n.workload("inference", "engine", "engine")
	template := "fake-gpu"
	engine.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &template}}
	engine.Spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: "gpu"}}
	r.create(engine)
	r.eventually("engine runs", 60*time.Second, r.podIs("inference", "engine", corev1.PodRunning))
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(engine), engine))
	device := r.deviceOf("inference", "engine")
	r.eventually("engine has the variables of its device", 30*time.Second, func(context.Context) error {
		want := "env GPU_DEVICE_" + strings.TrimPrefix(device, "gpu-") + "=" + device
		if said := n.logs("inference", "engine", "engine"); !strings.Contains(said, want+"\n") {
			return fmt.Errorf("%q is not in %s", want, said)
		}
		return nil
	})
	answer, err := n.get(engine, "8000", "/")
	require.NoError(t, err)
	require.Equal(t, "answer\n", answer)

	n.exporterNames(t, engine, device)
	r.endPods("inference")
}

// reservesMemory configures the kubelet as `gpu-dra kubelet-config` prints it: what is left for pods is the kubelet's own figure.
func (n *realNode) reservesMemory(t *testing.T) {
	t.Helper()
	r := n.r
	var group v1alpha1.GPUNodeGroup
	r.eventually("memory recommended", 60*time.Second, func(ctx context.Context) error {
		if err := r.client.Get(ctx, client.ObjectKey{Name: "fake"}, &group); err != nil {
			return err
		}
		if m := group.Status.MemoryReservation; m == nil || m.Recommended == nil {
			return fmt.Errorf("status has no recommendation: %+v", m)
		}
		return nil
	})
	command := exec.Command(controllerPath, "kubelet-config", "--node-group", "fake", "--kubeconfig", r.kubeconfig())
	dropIn, err := command.Output()
	require.NoError(t, err)
	recommended := *group.Status.MemoryReservation.Recommended
	require.Contains(t, string(dropIn), "memory: "+recommended.String())
	evictionHard := resource.MustParse("100Mi")
	before := n.memory(t)
	require.Equal(t, before.capacity-evictionHard.Value()-before.hugepages, before.allocatable, "nothing is reserved yet")
	r.cluster("node", "restart-kubelet", "--drop-in", r.file("50-gpu-dra.conf", string(dropIn)))
	r.eventually("kubelet reserves what is recommended, to the byte", 60*time.Second, func(context.Context) error {
		now := n.memory(t)
		if want := now.capacity - recommended.Value() - evictionHard.Value() - now.hugepages; now.allocatable != want {
			return fmt.Errorf("allocatable is %d, wanted %d", now.allocatable, want)
		}
		return nil
	})
	r.eventually("gpu-dra measures the same", 60*time.Second, func(ctx context.Context) error {
		if err := r.client.Get(ctx, client.ObjectKey{Name: "fake"}, &group); err != nil {
			return err
		}
		m := group.Status.MemoryReservation
		if m.Applied == nil || m.Applied.Cmp(recommended) != 0 {
			return fmt.Errorf("applied is %v, wanted %s", m.Applied, recommended.String())
		}
		return is(group.Status.Conditions, condition.MemoryReserved, metav1.ConditionTrue)
	})
}
