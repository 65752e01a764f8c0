//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

const doubtfulSettings = `
nodeGroups:
- name: gpu-h100
  drivers: [nvidia]
- name: empty
  drivers: [nvidia]
- name: absent
  drivers: [nvidia]
- name: spec-gpu
  drivers: [nvidia]
customDrivers:
- {name: nvidia, driverName: gpu.nvidia.com, topology: {PCIeRoot: nodomain}}
deviceClasses:
  extra:
  - {name: broken, selectors: ["device.driver =="]}
`

// What is odd in a cluster is a condition with its reason, and the rest goes on.
func TestOddClusters(t *testing.T) {
	t.Parallel()
	r := up(t)
	r.applyDemo()
	r.kubectl("create", "-f", r.file("empty.yaml", "apiVersion: deckhouse.io/v1\nkind: NodeGroup\nmetadata: {name: empty}\nspec: {nodeType: Static}\n"))
	r.kubectl("create", "-f", r.file("spec-gpu.yaml", "apiVersion: deckhouse.io/v1\nkind: NodeGroup\nmetadata: {name: spec-gpu}\nspec: {nodeType: Static, gpu: {sharing: MIG}}\n"))
	r.startOperator(doubtfulSettings)
	r.startController()

	r.eventually("good group is ready", 90*time.Second, r.groupIs("gpu-h100", condition.Ready, "True", condition.GroupReady))
	r.eventually("group without nodes", 30*time.Second, r.groupIs("empty", condition.Ready, "True", condition.GroupNoNodes))
	r.eventually("group without NodeGroup", 30*time.Second, r.groupIs("absent", condition.Ready, "False", condition.GroupNodeGroupMissing))
	r.eventually("spec.gpu of the NodeGroup", 30*time.Second, r.groupIs("spec-gpu", condition.SoleManager, "False", condition.GroupOtherManager))
	r.eventually("settings problem in GPUStack", 30*time.Second, r.stackIs(condition.SettingsAccepted, "False", condition.StackSettingsProblem))
	r.eventually("slices of a group nobody listed", 30*time.Second, r.stackIs(condition.NodeGroupsListed, "False", condition.StackUnmanagedGroup))
	r.eventually("the unlisted node has a GPUNode", 30*time.Second, r.nodeIs("mig-1", condition.Registered, "Unknown", condition.NodeNoDriverExpected))

	r.kubectl("get", "deviceclass", "gpu.nvidia.com") // a refused custom driver leaves the built-in of its name
	require.NotContains(t, r.kubectl("get", "deviceclasses"), "broken", "a class that would be refused does not stop the release")

	r.addNode("odd-1", "gpu-h100")
	unknown := gpus("odd-1", 1, 2)
	unknown.Name, unknown.Spec.Driver, unknown.Spec.Pool.Name = "unknown-odd-1", "gpu.nobody.example", "odd-1"
	r.create(unknown)
	r.eventually("unknown driver", 30*time.Second, r.stackIs(condition.DriversKnown, "False", condition.StackUnknownDriver))

	odd := gpus("odd-1", 1, 4)
	number, yes := int64(7), true
	odd.Spec.Devices[0].Attributes["type"] = resourcev1.DeviceAttribute{IntValue: &number}
	odd.Spec.Devices[0].Attributes["productName"] = resourcev1.DeviceAttribute{BoolValue: &yes}
	odd.Spec.Devices[1].Capacity = nil
	odd.Spec.Devices[2].Capacity["memory"] = resourcev1.DeviceCapacity{Value: resource.MustParse("0")}
	odd.Spec.Devices[3].Capacity["memory"] = resourcev1.DeviceCapacity{Value: resource.MustParse("81559M")}
	r.create(odd)
	r.eventually("odd devices count and are named", 30*time.Second, func(ctx context.Context) error {
		n, err := r.node(ctx, "odd-1")
		if err != nil {
			return err
		}
		i := slices.IndexFunc(n.Drivers, func(d v1alpha1.NodeDriver) bool { return d.Name == nvidia })
		if i < 0 || n.Drivers[i].Devices.Published != 4 {
			return fmt.Errorf("drivers are %+v", n.Drivers)
		}
		return is(n.Conditions, condition.DevicesHealthy, "False", condition.NodeUnrecognizedTypes)
	})
	r.eventually("odd devices register their node", 30*time.Second, r.groupIs("gpu-h100", condition.Ready, "True"))

	empty := gpus("odd-1", 2, 0)
	r.publish(empty)
	r.eventually("a pool with no devices is seen", 30*time.Second, r.groupHas("gpu-h100", 16, 2))

	r.settings("nodeGroups:\n- name: gpu-h100\n  drivers: [nvidia]\n")
	r.eventually("an entry removed takes its object with it", 90*time.Second, func(ctx context.Context) error {
		for _, name := range []string{"empty", "absent", "spec-gpu"} {
			if _, err := r.group(ctx, name); !apierrors.IsNotFound(err) {
				return fmt.Errorf("GPUNodeGroup %s is still there (%v)", name, err)
			}
		}
		_, err := r.group(ctx, "gpu-h100")
		return err
	})

	// A profile that nobody knows: the operator says where it stands, and no release is made of it.
	r.settings("nodeGroups:\n- name: gpu-h100\n  drivers: [nvidia]\n- name: misspelt\n  drivers: [nvidai]\n")
	r.eventually("unknown profile is refused", 60*time.Second, func(context.Context) error {
		if queue := r.cluster("operator", "queue"); !strings.Contains(queue, "nodeGroups[1].drivers[0]: found") {
			return fmt.Errorf("the queue of addon-operator is %s", queue)
		}
		return nil
	})
	revision := r.helmRevision(context.Background())
	r.never("unknown profile -> the release stays as it is", 5*time.Second, func(ctx context.Context) error {
		if now := r.helmRevision(ctx); now != revision {
			return fmt.Errorf("revision %d after %d", now, revision)
		}
		return r.driverRuns(moduleNamespace, "nvidia", "gpu-h100", "h100-1", "h100-2", "odd-1")(ctx)
	})
	r.settings("nodeGroups:\n- name: gpu-h100\n  drivers: [nvidia]\n  nosuchkey: true\n")
	r.never("settings with an unknown key lose nothing", 10*time.Second, func(ctx context.Context) error {
		_, err := r.group(ctx, "gpu-h100")
		return err
	})
}

func (r *rig) noGroupReady(ctx context.Context) error {
	var groups v1alpha1.GPUNodeGroupList
	if err := r.client.List(ctx, &groups); err != nil {
		if apierrors.IsNotFound(err) {
			return nil
		}
		return client.IgnoreNotFound(err)
	}
	for _, g := range groups.Items {
		if c := condition.Find(g.Status.Conditions, condition.Ready); c != nil && c.Status == metav1.ConditionTrue {
			return fmt.Errorf("GPUNodeGroup %s says Ready", g.Name)
		}
	}
	return nil
}

func (r *rig) stackIs(conditionType string, status metav1.ConditionStatus, reasons ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		var s v1alpha1.GPUStack
		if err := r.client.Get(ctx, client.ObjectKey{Name: v1alpha1.StackName}, &s); err != nil {
			return err
		}
		return is(s.Status.Conditions, conditionType, status, reasons...)
	}
}
