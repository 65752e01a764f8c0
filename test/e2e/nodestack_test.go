//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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

// watchedExample is the example driver's profile, for cards that a device plugin could have and another manager could run.
func watchedExample(t *testing.T) string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("..", "..", "profiles", "drivers", "example.yaml"))
	require.NoError(t, err)
	profile := map[string]any{}
	require.NoError(t, yaml.Unmarshal(raw, &profile))
	profile["pluginResources"] = []string{"example.com/gpu"}
	profile["managers"] = []any{map[string]any{"name": "other", "nodeLabel": "example.com/managed"}}
	settings, err := yaml.Marshal(map[string]any{"customDrivers": []any{profile}})
	require.NoError(t, err)
	return exampleSettings + string(settings)
}

// The chart as it is, on a real kubelet: controller, driver and guard run in their containers with their rights, the driver publishes
// its devices, a pod gets one, and the kubelet's reservation is what gpu-dra recommends.
func TestRealNode(t *testing.T) {
	t.Parallel()
	r, node := upReal(t)
	node.loadProduct()
	node.loadExample()
	r.create(&corev1.Namespace{ObjectMeta: metaName("inference")})
	r.kubectl("label", "node", node.Name, "accelerator=fake", "example.com/managed=true")
	r.kubectl("patch", "node", node.Name, "--subresource=status", "--type=merge", "-p", `{"status":{"capacity":{"example.com/gpu":"8"}}}`)
	r.install(watchedExample(t))

	node.guardHolds(t)
	r.eventually("clear node -> driver runs", 90*time.Second, r.driverRuns(plainNamespace, "example", "fake", node.Name))
	r.eventually("driver published", 60*time.Second, r.nodeIs(node.Name, condition.Registered, "True", condition.NodeRegistered))
	r.eventually("group ready", 60*time.Second, r.groupIs("fake", condition.Ready, "True", condition.GroupReady))
	require.Len(t, r.slicesOf(t.Context(), exampleDriver, node.Name), 1)

	node.engineGetsItsDevice(t)
	node.reservesMemory(t)
	node.down(t)
}

// guardHolds waits until the guard of the driver's pod says what it waits for, and takes that away.
func (n *realNode) guardHolds(t *testing.T) {
	t.Helper()
	r := n.r
	var pod corev1.Pod
	guard := func(ctx context.Context, check func(corev1.ContainerStatus) error) error {
		var pods corev1.PodList
		if err := r.client.List(ctx, &pods, client.InNamespace(plainNamespace), client.MatchingLabels{v1alpha1.Group + "/driver": "example"}); err != nil {
			return err
		}
		if len(pods.Items) != 1 || len(pods.Items[0].Status.InitContainerStatuses) != 1 {
			return fmt.Errorf("%d pods of the driver", len(pods.Items))
		}
		pod = pods.Items[0]
		return check(pod.Status.InitContainerStatuses[0])
	}
	r.eventually("guard runs", 90*time.Second, func(ctx context.Context) error {
		return guard(ctx, func(s corev1.ContainerStatus) error {
			if s.State.Running == nil {
				return fmt.Errorf("guard is %+v", s.State)
			}
			return nil
		})
	})
	r.eventually("guard names the label and the device plugin", 30*time.Second, func(context.Context) error {
		said := n.logs(plainNamespace, pod.Name, "guard")
		for _, word := range []string{"example.com/managed", "example.com/gpu: 8"} {
			if !strings.Contains(said, word) {
				return fmt.Errorf("%q is not in %s", word, said)
			}
		}
		return nil
	})
	r.kubectl("label", "node", n.Name, "example.com/managed-")
	r.never("label gone -> guard still waits for the device plugin", 7*time.Second, func(ctx context.Context) error {
		return guard(ctx, func(s corev1.ContainerStatus) error {
			if s.State.Running == nil || pod.Status.Phase != corev1.PodPending {
				return fmt.Errorf("guard is %+v, pod %s", s.State, pod.Status.Phase)
			}
			return nil
		})
	})
	require.Empty(t, r.slicesOf(t.Context(), exampleDriver, n.Name))
	r.kubectl("patch", "node", n.Name, "--subresource=status", "--type=json", "-p",
		`[{"op":"remove","path":"/status/capacity/example.com~1gpu"},{"op":"remove","path":"/status/allocatable/example.com~1gpu"}]`)
}

// engineGetsItsDevice runs a pod with a claim: what the driver says about its device is in the container, by CDI. The exporter's
// stand-in sees on the kubelet's socket who has it.
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

	exporter := n.workload("inference", "exporter", "exporter")
	exporter.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "DCGM_EXPORTER_KUBERNETES", Value: "true"},
		{Name: "KUBERNETES_ENABLE_DRA", Value: "true"}, {Name: "DCGM_EXPORTER_INTERVAL", Value: "200"}}
	exporter.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "pods", MountPath: "/var/lib/kubelet/pod-resources", ReadOnly: true}}
	exporter.Spec.Volumes = []corev1.Volume{{Name: "pods", VolumeSource: corev1.VolumeSource{
		HostPath: &corev1.HostPathVolumeSource{Path: "/var/lib/kubelet/pod-resources"}}}}
	r.create(exporter)
	r.eventually("exporter runs", 60*time.Second, r.podIs("inference", "exporter", corev1.PodRunning))
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(exporter), exporter))
	claim := *engine.Status.ResourceClaimStatuses[0].ResourceClaimName
	r.eventually("stand-in of the exporter names pod and claim", 30*time.Second, func(context.Context) error {
		page, err := n.get(exporter, "9400", "/metrics")
		if err != nil {
			return err
		}
		for _, want := range []string{"DCGM_FI_DEV_FB_USED{", `pod="engine"`, `namespace="inference"`, `dra_claim_name="` + claim + `"`,
			`dra_device_name="` + device + `"`, `dra_driver_name="` + exampleDriver + `"`} {
			if !strings.Contains(page, want) {
				return fmt.Errorf("%s is not in\n%s", want, page)
			}
		}
		return nil
	})
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

type memory struct{ capacity, allocatable, hugepages int64 }

func (n *realNode) memory(t *testing.T) memory {
	t.Helper()
	var node corev1.Node
	require.NoError(t, n.r.client.Get(t.Context(), client.ObjectKey{Name: n.Name}, &node))
	m := memory{capacity: node.Status.Capacity.Memory().Value(), allocatable: node.Status.Allocatable.Memory().Value()}
	for name, amount := range node.Status.Capacity {
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			m.hugepages += amount.Value()
		}
	}
	return m
}
