//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/internal/condition"
)

const (
	exampleDriver = "gpu.example.com"
	examplePlugin = "dra-example-kubeletplugin"
	// On the node group of exampleSettings.
	exampleAccount = "driver-example-fake"
)

const exampleSettings = `
distribution: Vanilla
nodeGroups:
- {name: fake, drivers: [example], nodeSelector: {accelerator: fake}}
claimTemplates:
- {name: fake-gpu, namespaces: [inference], driver: example, minMemory: 16Gi}
`

// exampleCluster is a cluster with two nodes of the example driver, installed by plain Helm.
func exampleCluster(t *testing.T) *rig {
	r := up(t)
	for _, node := range []string{"fake-1", "fake-2"} {
		r.addNode(node, "none")
		r.kubectl("label", "node", node, "accelerator=fake")
	}
	r.create(&corev1.Namespace{ObjectMeta: metaName("inference")})
	r.install(exampleSettings)
	return r
}

// runExample starts the example driver on a node as the chart runs it, its health service on a port of this machine.
func (r *rig) runExample(node string, arguments ...string) (driver *container, health string) {
	r.t.Helper()
	pod := r.podOn(plainNamespace, "example", node)
	health = freeAddress(r.t)
	_, port, err := net.SplitHostPort(health)
	require.NoError(r.t, err)
	return r.run(pod, pod.Spec.Containers[0].Name, r.bin(examplePlugin), append([]string{"--env", "HEALTHCHECK_PORT=" + port}, arguments...)...), health
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// A real driver with the rights of its ServiceAccount, from the chart to a prepared claim: it publishes its own node's devices,
// the scheduler gives one to a pod, and the driver prepares it as the kubelet asks.
func TestExampleDriver(t *testing.T) {
	t.Parallel()
	r := exampleCluster(t)
	r.startPlainController()
	first, health := r.runExample("fake-1")
	r.eventually("one node of two registered", 60*time.Second, r.groupIs("fake", condition.Ready, "False", condition.GroupNodesMissing))
	r.eventually("driver published", 60*time.Second, r.nodeIs("fake-1", condition.Registered, "True", condition.NodeRegistered))
	second, _ := r.runExample("fake-2")
	r.eventually("both nodes registered", 60*time.Second, r.groupIs("fake", condition.Ready, "True", condition.GroupReady))
	require.NoError(t, r.groupHas("fake", 16, 2)(t.Context()))
	require.True(t, serving(t, health), "the health service that the probes of the pod ask")

	r.templatesWritten("fake-gpu", "inference")
	device := r.claimPod("inference", "engine", "fake-gpu", "fake-1")
	var pod corev1.Pod
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKey{Namespace: "inference", Name: "engine"}, &pod))
	claim := &resourcev1.ResourceClaim{}
	claim.Namespace, claim.Name = "inference", *pod.Status.ResourceClaimStatuses[0].ResourceClaimName
	uid := r.uidOf(claim)
	socket := filepath.Join(first.path(first.env("KUBELET_PLUGINS_DIRECTORY_PATH")), exampleDriver, "dra.sock")
	prepared, cdi := prepare(t, socket, claim.Namespace, claim.Name, uid)
	require.Equal(t, device, prepared)
	require.NotEmpty(t, cdi)
	specs, err := os.ReadDir(first.path(first.env("CDI_ROOT")))
	require.NoError(t, err)
	require.NotEmpty(t, specs, "the runtime finds the CDI devices where the chart has it look")

	r.driverRepairs(t, second, "fake-2")
	r.requireRightsUsed(t, plainNamespace, exampleAccount, nil)
	// The proof by example, as for the controller: a right that is taken away is missed.
	gone := right{"create", "resource.k8s.io", "resourceslices"}
	r.takeAway(t, gone)
	second.stop()
	r.wipe("fake-2")
	second.start()
	r.eventuallyRefused(t, plainNamespace, exampleAccount, gone)
}

// driverRepairs spoils what a driver published while it is away: it puts everything right when it is back. These are the
// occasions for its rights. (While it runs it does the same, but waits first for what it takes for a restart of the kubelet.)
func (r *rig) driverRepairs(t *testing.T, driver *container, node string) {
	t.Helper()
	right := func(ctx context.Context) error {
		if now := r.slicesOf(ctx, exampleDriver, node); len(now) != 1 || len(now[0].Spec.Devices) != 8 {
			return fmt.Errorf("%d slices of node %s", len(now), node)
		}
		return nil
	}
	driver.stop()
	cut := r.slicesOf(t.Context(), exampleDriver, node)[0]
	stale := cut.DeepCopy()
	stale.ObjectMeta = metaName("stale-" + node)
	stale.Spec.Pool.Generation--
	r.create(stale)
	cut.Spec.Devices = cut.Spec.Devices[:1]
	require.NoError(t, r.client.Update(t.Context(), &cut))
	driver.start()
	r.eventually("slice changed and old one there -> driver puts it right", 90*time.Second, right)
	driver.stop()
	r.wipe(node)
	driver.start()
	r.eventually("slice deleted -> driver publishes it again", 90*time.Second, right)
}

func (r *rig) slicesOf(ctx context.Context, driver, node string) []resourcev1.ResourceSlice {
	var all resourcev1.ResourceSliceList
	require.NoError(r.t, r.client.List(ctx, &all))
	var out []resourcev1.ResourceSlice
	for _, s := range all.Items {
		if s.Spec.Driver == driver && s.Spec.NodeName != nil && *s.Spec.NodeName == node {
			out = append(out, s)
		}
	}
	return out
}

// A driver writes slices of its own node and its own name only: the chart's policy goes by the node in the pod's token.
func TestDriverWritesItsOwnNodeOnly(t *testing.T) {
	t.Parallel()
	r := exampleCluster(t)
	driver, _ := r.runExample("fake-1", "--env", "NODE_NAME=fake-2")
	driver.says("driver that names another node is refused", 60*time.Second, `found spec.nodeName \"fake-2\", expected \"fake-1\"`)
	require.Empty(t, r.slicesOf(t.Context(), exampleDriver, "fake-2"))

	config, err := clientcmd.BuildConfigFromFlags("", driver.kubeconfig())
	require.NoError(t, err)
	byDriver, err := client.New(config, client.Options{Scheme: r.client.Scheme()})
	require.NoError(t, err)
	slice := func(name string, change func(*resourcev1.ResourceSlice)) *resourcev1.ResourceSlice {
		s := gpus("fake-1", 1, 1)
		s.Name, s.Spec.Driver = name, exampleDriver
		change(s)
		return s
	}
	own := slice("own", func(*resourcev1.ResourceSlice) {})
	require.NoError(t, byDriver.Create(t.Context(), own))
	everywhere := true
	for name, refused := range map[string]struct {
		change func(*resourcev1.ResourceSlice)
		say    string
	}{
		"other-driver": {func(s *resourcev1.ResourceSlice) { s.Spec.Driver = nvidia }, "of another driver, expected spec.driver " + exampleDriver},
		"all-nodes":    {func(s *resourcev1.ResourceSlice) { s.Spec.NodeName, s.Spec.AllNodes = nil, &everywhere }, `found spec.nodeName "", expected "fake-1"`},
		"other-node":   {func(s *resourcev1.ResourceSlice) { *s.Spec.NodeName = "fake-2" }, `found spec.nodeName "fake-2"`},
	} {
		require.ErrorContains(t, byDriver.Create(t.Context(), slice(name, refused.change)), refused.say, name)
	}
	// What is there of others cannot be taken away or changed either.
	other := slice("other", func(s *resourcev1.ResourceSlice) { *s.Spec.NodeName = "fake-2"; s.Spec.Pool.Name = "fake-2" })
	r.create(other)
	require.ErrorContains(t, byDriver.Delete(t.Context(), other), `expected "fake-1"`)
	other.Spec.Devices = nil
	require.ErrorContains(t, byDriver.Update(t.Context(), other), `expected "fake-1"`)
	require.NoError(t, byDriver.Delete(t.Context(), own))

	// A token of the same ServiceAccount that is bound to no pod names no node.
	token := r.kubectl("create", "token", exampleAccount, "--namespace", plainNamespace)
	config.BearerToken, config.BearerTokenFile = token, ""
	unbound, err := client.New(config, client.Options{Scheme: r.client.Scheme()})
	require.NoError(t, err)
	require.ErrorContains(t, unbound.Create(t.Context(), slice("unbound", func(*resourcev1.ResourceSlice) {})), "the token names no node")
}
