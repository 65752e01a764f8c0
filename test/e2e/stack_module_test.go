//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// The whole stack as a module of Deckhouse, from its bundle: beside a class that is somebody else's, with its drivers on the
// nodes of NodeGroups, a changed template, and the module switched off.
func TestStackByAddonOperator(t *testing.T) {
	t.Parallel()
	r := up(t)
	r.applyDemo()
	r.addNode("worker-1", "worker")
	r.kubectl("create", "-f", r.file("class.yaml", foreignClass))
	for _, namespace := range []string{"inference", "research"} {
		r.create(&corev1.Namespace{ObjectMeta: metaName(namespace)})
	}
	r.eventually("namespaces have what every namespace has", 30*time.Second, r.namespacesFilled("inference", "research"))
	class := r.uidOf(&resourcev1.DeviceClass{ObjectMeta: metaName("gpu.nvidia.com")})
	before := r.now()
	settings := strings.Replace(twoGroups, "namespaces: [inference]", "namespaces: [inference, research]", 1)
	r.startOperator(settings)
	r.startController()

	r.eventually("driver on the nodes of its group", 60*time.Second, r.driverRuns(moduleNamespace, "nvidia", "gpu-h100", "h100-1", "h100-2"))
	r.eventually("driver tolerates the taints of its NodeGroup", 30*time.Second, r.driverRuns(moduleNamespace, "nvidia", "gpu-a100-mig", "mig-1"))
	r.eventually("foreign class reported", 90*time.Second, r.stackIs(condition.DeviceClassesOwned, "False", condition.StackForeignClass))
	r.eventually("group ready", 90*time.Second, r.groupIs("gpu-h100", condition.Ready, "True", condition.GroupReady))
	r.eventually("group with partitions ready", 30*time.Second, r.groupIs("gpu-a100-mig", condition.Ready, "True", condition.GroupReady))

	written := r.templatesWritten("gpu-16gb-min", "inference", "research")
	require.Equal(t, "gpu-0-mig-2g20gb-14-2", r.claimPod("inference", "first", "gpu-16gb-min", "mig-1"))
	require.Equal(t, "gpu-0-mig-3g40gb-9-4", r.claimPod("research", "second", "gpu-16gb-min", "mig-1"))
	require.Equal(t, "gpu-1", r.claimPod("inference", "third", "gpu-16gb-min", "mig-1"), "a whole card when no partition is left")

	// A changed meaning, and one group's driver with other settings.
	r.settings(strings.NewReplacer("minMemory: 16Gi", "minMemory: 8Gi", "partitioning: Static",
		"partitioning: Static\n  driverOverrides: {nvidia: {logLevel: 4}}").Replace(settings))
	r.templatesReplaced("gpu-16gb-min", written)
	require.EqualValues(t, 2, r.generation(moduleNamespace, "nvidia", "gpu-a100-mig"))
	require.EqualValues(t, 1, r.generation(moduleNamespace, "nvidia", "gpu-h100"), "another group's driver is not touched")
	require.NoError(t, r.podIs("inference", "third", corev1.PodRunning)(context.Background()))
	require.Equal(t, "gpu-1", r.deviceOf("inference", "third"), "a running pod keeps its claim")

	r.endPods("inference")
	r.endPods("research")
	r.disable()
	r.onlyStaysLeft(before)
	foreign := &resourcev1.DeviceClass{ObjectMeta: metaName("gpu.nvidia.com")}
	require.Equal(t, class, r.uidOf(foreign), "somebody else's class survives")
	require.Equal(t, map[string]string{"owner": "somebody"}, foreign.Labels)
	require.Empty(t, foreign.Annotations["meta.helm.sh/release-name"], "Helm has not taken it over")
}

// disable switches the module off and ends what played it.
func (r *rig) disable() {
	r.t.Helper()
	r.switchOff("nodeGroups: []\n")
	r.cluster("controller", "stop")
	r.cluster("operator", "stop")
}

// switchOff switches the module off, as `enabled: false` of a ModuleConfig does, and waits until its namespace is gone.
// addon-operator looks at the switch in its ConfigMap only when the settings beside it change.
func (r *rig) switchOff(settings string) {
	r.t.Helper()
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"gpuDraEnabled": "false", "gpuDra": settings}})
	require.NoError(r.t, err)
	r.kubectl("patch", "configmap", "addon-operator", "--namespace", "addon-operator", "--type=merge", "-p", string(patch))
	r.eventually("module switched off -> its namespace goes", 90*time.Second, func(ctx context.Context) error {
		err := r.client.Get(ctx, client.ObjectKey{Name: moduleNamespace}, &corev1.Namespace{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is still there (%v)", err)
	})
}

// namespacesFilled waits for the objects that the controller manager makes in every namespace.
func (r *rig) namespacesFilled(namespaces ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		for _, namespace := range namespaces {
			for _, o := range []client.Object{&corev1.ServiceAccount{}, &corev1.ConfigMap{}} {
				name := "default"
				if _, ok := o.(*corev1.ConfigMap); ok {
					name = "kube-root-ca.crt"
				}
				if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, o); err != nil {
					return err
				}
			}
		}
		return nil
	}
}
