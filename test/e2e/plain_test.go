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
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

const plainSettings = `
distribution: Vanilla
nodeGroups:
- {name: h100, drivers: [nvidia], nodeSelector: {node.deckhouse.io/group: gpu-h100}}
- {name: silent, drivers: [nvidia], nodeSelector: {group: silent}}
- {name: left-alone, drivers: [nvidia], passive: true, nodeSelector: {node.deckhouse.io/group: gpu-a100-mig}}
claimTemplates:
- {name: gpu-16gb-min, namespaces: [inference], driver: nvidia, minMemory: 16Gi}
`

// The chart by plain Helm, without hooks: the controller gives the verdict, counts of zero included.
func TestPlainHelm(t *testing.T) {
	t.Parallel()
	r := up(t)
	r.apply("examples/demo/nodes.yaml", "examples/demo/slices.yaml")
	r.create(&corev1.Node{ObjectMeta: metaName("silent-1")})
	r.kubectl("label", "node", "silent-1", "group=silent")
	r.create(&corev1.Namespace{ObjectMeta: metaName("inference")})
	r.install(plainSettings)
	r.startPlainController()

	r.eventually("registered group", 90*time.Second, r.groupIs("h100", condition.Ready, "True", condition.GroupReady))
	require.Regexp(t, `NAME .* CDI +READY`, r.kubectl("get", "gpunodegroups"))
	require.Regexp(t, `NAME .* CDI +REGISTERED`, r.kubectl("get", "gpunodes", "-o", "wide"))
	r.eventually("group none of whose nodes registered", 30*time.Second, r.groupIs("silent", condition.Ready, "False", condition.GroupNodesMissing))
	r.eventually("passive group", 30*time.Second, r.groupIs("left-alone", condition.Ready, "True", condition.GroupNoNodes))
	require.NoError(t, func() error {
		g, err := r.group(context.Background(), "silent")
		if err == nil && g.Summary.Nodes != "0/1" {
			err = fmt.Errorf("nodes are %s", g.Summary.Nodes)
		}
		return err
	}())
	r.eventually("template written", 30*time.Second, r.templateIs("gpu-16gb-min", condition.Ready, "True"))

	// No class of a driver that no group lists: the template says so, and follows when somebody creates it.
	r.kubectl("apply", "-f", r.file("t.yaml", "apiVersion: gpu-dra.deckhouse.io/v1alpha1\nkind: GPUClaimTemplate\nmetadata: {name: fake}\nspec: {driver: example, namespaces: [inference]}\n"))
	r.eventually("class missing", 30*time.Second, r.templateIs("fake", condition.Satisfiable, "False", condition.TemplateClassMissing))
	r.kubectl("apply", "-f", r.file("c.yaml", "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: gpu.example.com}\nspec: {}\n"))
	r.eventually("class created", 30*time.Second, r.templateIs("fake", condition.Satisfiable, "Unknown", condition.TemplateNoDevicesYet))

	// Rights that the controller has only where no hooks run: a group that is listed no more gives the last occasion.
	r.upgrade(strings.Replace(plainSettings, "- {name: silent,", "- {name: other,", 1))
	r.cluster("controller", "stop")
	r.startPlainController()
	r.eventually("the group that is listed no more is gone", 60*time.Second, func(ctx context.Context) error {
		if _, err := r.group(ctx, "silent"); client.IgnoreNotFound(err) != nil || err == nil {
			return fmt.Errorf("still there (%v)", err)
		}
		return nil
	})
	r.eventually("the other group", 60*time.Second, r.groupIs("other", condition.Ready, "False", condition.GroupNodesMissing))
	_, refused := r.asked(t, plainNamespace, "controller")
	require.Empty(t, refused)
	for _, idle := range r.idle(t, plainNamespace, "controller", map[right]string{
		{"patch", v1alpha1.Group, "gpunodegroups"}: "owners that a cluster with NodeGroups gave",
	}) {
		require.NotContains(t, idle, "gpunodegroups", "granted and never used")
	}
	r.uninstall()
}
