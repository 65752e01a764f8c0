//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// exporterAccount is the ServiceAccount of the example driver's exporter.
const exporterAccount = "exporter-example"

// slicesRead is what the exporter asks the API server for.
var slicesRead = right{"list", "resource.k8s.io", "resourceslices"}

// watchingExporter is the demo's exporter, of which an exporter on a node lists the ResourceSlices.
func watchingExporter(t *testing.T) tree {
	t.Helper()
	exporter := demoExporter(t)
	exporter["unverified"] = []string{"a stand-in whose figures are made up"}
	return exporter
}

// exporterNames checks that the chart's exporter says of the device of an engine which card it is and who has it, in the metrics it
// was asked for and no others, and that it had the rights for that, each of which it used.
func (n *realNode) exporterNames(t *testing.T, engine *corev1.Pod, device string) {
	t.Helper()
	r := n.r
	var pods corev1.PodList
	require.NoError(t, r.client.List(t.Context(), &pods, client.InNamespace(plainNamespace), client.MatchingLabels{
		"app.kubernetes.io/component": exporterAccount, v1alpha1.Group + "/node-group": "fake"}))
	require.Len(t, pods.Items, 1)
	exporter := &pods.Items[0]
	require.Equal(t, exporterAccount, exporter.Spec.ServiceAccountName)
	require.Len(t, exporter.Status.InitContainerStatuses, 1)
	require.NotNil(t, exporter.Status.InitContainerStatuses[0].State.Terminated, "the guard")

	uuid := ""
	for _, d := range r.slicesOf(t.Context(), exampleDriver, n.Name)[0].Spec.Devices {
		if d.Name == device {
			uuid = *d.Attributes["uuid"].StringValue
		}
	}
	require.NotEmpty(t, uuid)
	claim := engine.Status.ResourceClaimStatuses[0]
	labels := fmt.Sprintf(`{gpu="0",UUID=%q,device="nvidia0",modelName="stand-in",hostname=%q,container="engine",namespace=%q,pod=%q,`+
		`dra_claim_name=%q,dra_claim_namespace=%q,dra_driver_name=%q,dra_pool_name=%q,dra_device_name=%q} `,
		uuid, n.Name, engine.Namespace, engine.Name, *claim.ResourceClaimName, engine.Namespace, exampleDriver, n.Name, device)
	r.eventually("exporter names card, pod, container and claim", 30*time.Second, func(context.Context) error {
		page, err := n.get(exporter, "9400", "/metrics")
		if err != nil {
			return err
		}
		var samples []string
		for _, line := range strings.Split(strings.TrimSpace(page), "\n") {
			if !strings.HasPrefix(line, "#") {
				samples = append(samples, line)
			}
		}
		if want := []string{"DCGM_FI_DEV_FB_USED" + labels + "20480", "DCGM_FI_DEV_GPU_UTIL" + labels + "73"}; strings.Join(samples, "\n") != strings.Join(want, "\n") {
			return fmt.Errorf("wanted\n%s\nin\n%s", strings.Join(want, "\n"), page)
		}
		return nil
	})
	r.requireRightsUsed(t, plainNamespace, exporterAccount, nil)
}

// exporterNeedsItsRights takes a right away: the exporter is refused, so the check of its rights would have seen it.
func (n *realNode) exporterNeedsItsRights(t *testing.T) {
	t.Helper()
	n.r.takeAway(t, slicesRead)
	n.r.eventuallyRefused(t, plainNamespace, exporterAccount, slicesRead)
}
