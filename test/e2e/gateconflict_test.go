//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

const oneGroup = `
distribution: Vanilla
nodeGroups:
- {name: h100, drivers: [nvidia], nodeSelector: {node.deckhouse.io/group: gpu-h100}}
`

const (
	apiServer = "kube-apiserver"
	scheduler = "kube-scheduler"
	// The stand-in Pods of the control plane.
	apiServerPod, schedulerPod, secondSchedulerPod = "kube-apiserver-control-plane", "kube-scheduler-control-plane", "kube-scheduler-control-plane-2"
)

// conflictsPrinted is the block of a GPUStack as kubectl prints it.
var conflictsPrinted = regexp.MustCompile(`(?m)^    conflicts:\n(    [- ].*\n)+`)

// A control plane started with gates that contradict each other: within one flag, in two flags of one component, between two
// components, and between two instances of one. GPUStack names gate, component, instance, values and the one that won, which is
// the one that the component itself says is in force; nothing of it is left once the flags are repaired.
func TestGateConflict(t *testing.T) {
	t.Parallel()
	r := up(t, "--extra-arg", "kube-apiserver=--feature-gates=DRAExtendedResource=true,DRAExtendedResource=false,DRAPartitionableDevices=true",
		"--extra-arg", "kube-scheduler=--feature-gates=DRAConsumableCapacity=false,DRAPartitionableDevices=false",
		"--extra-arg", "kube-scheduler=--feature-gates=DRAConsumableCapacity=true")
	require.False(t, r.gatesOf(apiServer)["DRAExtendedResource"].On)
	require.True(t, r.gatesOf(scheduler)["DRAConsumableCapacity"].On)
	r.withOneGroup()

	on, off := true, false
	twiceInScheduler := v1alpha1.GateConflict{Gate: "DRAConsumableCapacity", Component: scheduler, Instance: schedulerPod, Values: []bool{false, true}, Effective: &on,
		Message: scheduler + " " + schedulerPod + ": sets it to false, then true: the last value (true) wins without a warning, keep one"}
	twiceInServer := v1alpha1.GateConflict{Gate: "DRAExtendedResource", Component: apiServer, Instance: apiServerPod, Values: []bool{true, false}, Effective: &off,
		Message: apiServer + " " + apiServerPod + ": sets it to true, then false: the last value (false) wins without a warning, keep one"}
	between := v1alpha1.GateConflict{Gate: "DRAPartitionableDevices", Values: []bool{true, false},
		Message: "set to true in kube-apiserver " + apiServerPod + ", to false in kube-scheduler " + schedulerPod + ": these components read it, set one value"}
	told := v1alpha1.GateConflict{Gate: "DRAConsumableCapacity", Values: []bool{true},
		Message: "on in kube-scheduler " + schedulerPod + " (set by its flags), off in kube-apiserver " + apiServerPod + " (off by default in 1.34): these components read it, set one value"}
	r.eventually("conflicts named", 90*time.Second, r.conflictsAre(told, twiceInScheduler, twiceInServer, between))
	r.eventually("condition says so", 10*time.Second, r.stackIs(condition.FeatureGatesConsistent, "False", condition.StackGatesConflict))

	// A second scheduler, as a control plane of several nodes has it.
	end := r.secondScheduler(t, "--feature-gates=DRAConsumableCapacity=false")
	instances := v1alpha1.GateConflict{Gate: "DRAConsumableCapacity", Component: scheduler, Values: []bool{true, false},
		Message: "on in kube-scheduler " + schedulerPod + " (set by its flags), off in kube-scheduler " + secondSchedulerPod +
			" (set by its flags): give all instances of kube-scheduler the same flags"}
	r.eventually("instances that differ named", 30*time.Second, r.conflictsAre(instances, twiceInScheduler, twiceInServer, between))

	// What a user reads, by kubectl and by the CLI.
	var shown v1alpha1.GPUStack
	printed := r.kubectl("get", "gpustack", "main", "-o", "yaml")
	require.NoError(t, yaml.Unmarshal([]byte(printed), &shown))
	require.Equal(t, []v1alpha1.GateConflict{instances, twiceInScheduler, twiceInServer, between}, shown.Status.FeatureGates.Conflicts)
	plan, err := exec.Command(controllerPath, "plan", "--kubeconfig", r.kubeconfig()).CombinedOutput()
	require.NoError(t, err, string(plan))
	for _, c := range shown.Status.FeatureGates.Conflicts {
		require.Contains(t, string(plan), "\n  "+c.Gate+": "+c.Message+"\n")
	}

	documented := conflictsPrinted.FindString(printed)
	require.NotEmpty(t, documented, printed)
	for _, page := range []string{"feature-gates.md", "feature-gates.ru.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "docs", page))
		require.NoError(t, err)
		// Lines are broken elsewhere in a page.
		require.Contains(t, strings.Join(strings.Fields(string(text)), " "), strings.Join(strings.Fields(documented), " "), page)
	}

	// Before the API server starts anew: it refuses everything until it has read its roles.
	_, refused := r.asked(t, plainNamespace, "controller")
	require.Empty(t, refused, "the controller asked for what the chart gives it no right to")

	end()
	for _, name := range []string{apiServer, scheduler} {
		_, err := r.restart(name)
		require.NoError(t, err)
	}
	r.eventually("repaired: no conflict", 60*time.Second, r.conflictsAre())
	r.eventually("repaired: consistent", 10*time.Second, r.stackIs(condition.FeatureGatesConsistent, "True", condition.StackGatesOn))
}

// A control plane as it is by default, to who renders without it and to the controller.
func TestGatesOfACleanCluster(t *testing.T) {
	t.Parallel()
	r := up(t)
	seen, err := exec.Command(controllerPath, "values", "--kubeconfig", r.kubeconfig()).Output()
	require.NoError(t, err)
	require.Equal(t, "cluster:\n  featureGates:\n    DRAAdminAccess: true\n    DRADeviceTaints: false\n    DRAExtendedResource: false\n  kubernetesVersion: v1.34.4\n", string(seen))
	r.helm("template", "gpu-dra", chartPackage, "--values", r.file("values.yaml", oneGroup), "--values", r.file("cluster.yaml", string(seen)))

	r.withOneGroup()
	r.eventually("consistent", 90*time.Second, r.stackIs(condition.FeatureGatesConsistent, "True", condition.StackGatesOn))
	require.NoError(t, r.conflictsAre()(t.Context()))
}

// withOneGroup installs gpu-dra by plain Helm for a group of nodes that are there.
func (r *rig) withOneGroup() {
	r.t.Helper()
	r.apply("examples/demo/nodes.yaml", "examples/demo/slices.yaml")
	r.install(oneGroup)
	r.startPlainController()
}

// conflictsAre checks all of featureGates.conflicts.
func (r *rig) conflictsAre(want ...v1alpha1.GateConflict) func(context.Context) error {
	return func(ctx context.Context) error {
		var s v1alpha1.GPUStack
		if err := r.client.Get(ctx, client.ObjectKey{Name: v1alpha1.StackName}, &s); err != nil {
			return err
		}
		shown, err := yaml.Marshal(s.Status.FeatureGates.Conflicts)
		if err != nil {
			return err
		}
		wanted, err := yaml.Marshal(want)
		if err != nil {
			return err
		}
		if len(s.Status.FeatureGates.Conflicts) != len(want) || len(want) > 0 && string(shown) != string(wanted) {
			return fmt.Errorf("conflicts are\n%s\nwanted\n%s", shown, wanted)
		}
		return nil
	}
}

// secondScheduler runs one more scheduler with gates of its own, and shows it as a mirror Pod beside the first. The returned
// function takes both away.
func (r *rig) secondScheduler(t *testing.T, gates string) (end func()) {
	t.Helper()
	var pod corev1.Pod
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: schedulerPod}, &pod))
	var command []string
	for _, arg := range pod.Spec.Containers[0].Command {
		if !strings.HasPrefix(arg, "--feature-gates=") && !strings.HasPrefix(arg, "--secure-port=") {
			command = append(command, arg)
		}
	}
	address := freeAddress(t)
	command = append(command, "--secure-port="+address[strings.LastIndex(address, ":")+1:], gates)
	process := exec.Command(r.bin(scheduler), command[1:]...)
	require.NoError(t, process.Start())
	ended := make(chan error, 1)
	go func() { ended <- process.Wait() }()
	stop := func() {
		if process.Process.Kill() == nil {
			<-ended
		}
	}
	t.Cleanup(stop)
	r.eventually("second scheduler serves", 30*time.Second, func(ctx context.Context) error {
		select {
		case err := <-ended:
			ended <- err
			return fmt.Errorf("it ended: %w", err)
		default:
		}
		_, err := r.get(ctx, "https://"+address, "/healthz")
		return err
	})
	second := pod.DeepCopy()
	second.ObjectMeta = metav1.ObjectMeta{Name: secondSchedulerPod, Namespace: pod.Namespace, Labels: pod.Labels, Annotations: pod.Annotations, OwnerReferences: pod.OwnerReferences}
	second.Spec.Containers[0].Command = command
	second.Status = corev1.PodStatus{}
	r.create(second)
	return func() {
		stop()
		require.NoError(t, r.client.Delete(context.Background(), second, client.GracePeriodSeconds(0)))
	}
}
