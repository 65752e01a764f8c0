//go:build e2e

package e2e

import (
	"context"
	"fmt"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// plainNamespace is where plain Helm puts gpu-dra here; addon-operator's chart makes moduleNamespace.
const (
	plainNamespace  = "gpu-dra"
	moduleNamespace = "d8-gpu-dra"
)

// install installs the package for plain Helm.
func (r *rig) install(values string, args ...string) {
	r.t.Helper()
	out, err := r.tryInstall(values, args...)
	require.NoError(r.t, err, out)
}

func (r *rig) tryInstall(values string, args ...string) (string, error) {
	r.t.Helper()
	return r.tryProgram("helm", append([]string{"install", "gpu-dra", chartPackage, "--namespace", plainNamespace, "--create-namespace",
		"--values", r.file("values.yaml", values)}, args...)...)
}

func (r *rig) upgrade(values string) {
	r.t.Helper()
	r.helm("upgrade", "gpu-dra", chartPackage, "--namespace", plainNamespace, "--values", r.file("values.yaml", values))
}

// uninstall ends the controller too, as the kubelet of its node does.
func (r *rig) uninstall() {
	r.t.Helper()
	r.helm("uninstall", "gpu-dra", "--namespace", plainNamespace, "--wait")
	r.cluster("controller", "stop")
}

func (r *rig) startPlainController() {
	r.t.Helper()
	r.cluster("controller", "start", "--binary", controllerPath, "--namespace", plainNamespace)
}

// driverRuns checks that a group's DaemonSet of a driver has a ready pod on these nodes and on no other.
func (r *rig) driverRuns(namespace, driver, group string, nodes ...string) func(context.Context) error {
	return r.daemonSetRuns(namespace, "driver-"+driver+"-"+group, nodes...)
}

func (r *rig) daemonSetRuns(namespace, name string, nodes ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		var set appsv1.DaemonSet
		if err := r.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, &set); err != nil {
			return err
		}
		if s := set.Status; s.ObservedGeneration != set.Generation || int(s.DesiredNumberScheduled) != len(nodes) || int(s.NumberReady) != len(nodes) {
			return fmt.Errorf("DaemonSet %s has %d of %d pods ready, wanted %d on %v", name, s.NumberReady, s.DesiredNumberScheduled, len(nodes), nodes)
		}
		var pods corev1.PodList
		if err := r.client.List(ctx, &pods, client.InNamespace(namespace), client.MatchingLabels(set.Spec.Selector.MatchLabels)); err != nil {
			return err
		}
		on := map[string]int{}
		for _, p := range pods.Items {
			on[p.Spec.NodeName]++
		}
		if len(pods.Items) != len(nodes) {
			return fmt.Errorf("pods of DaemonSet %s are on %v, wanted %v", name, on, nodes)
		}
		for _, n := range nodes {
			if on[n] != 1 {
				return fmt.Errorf("pods of DaemonSet %s are on %v, wanted %v", name, on, nodes)
			}
		}
		return nil
	}
}

// generation of a group's DaemonSet changes when its spec does.
func (r *rig) generation(namespace, driver, group string) int64 {
	r.t.Helper()
	var set appsv1.DaemonSet
	require.NoError(r.t, r.client.Get(context.Background(), client.ObjectKey{Namespace: namespace, Name: "driver-" + driver + "-" + group}, &set))
	return set.Generation
}
