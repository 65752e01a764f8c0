//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
)

// Who holds devices and who waits for some, by the real scheduler's allocations: in the column ALLOCATED and in the metrics. And
// what the API server's own /metrics say of its gates goes with its flags.
func TestWhoHoldsDevices(t *testing.T) {
	t.Parallel()
	r := demoCluster(t, twoGroups)
	r.create(&corev1.Namespace{ObjectMeta: metaName("inference")})
	r.eventually("ready", 90*time.Second, r.groupIs("gpu-h100", condition.Ready, "True"))
	r.eventually("template written", 60*time.Second, r.templateIs("gpu-16gb-min", condition.Ready, "True"))
	r.eventually("nothing held yet", 60*time.Second, r.allocated("h100-1", "0/8"))
	const row = `gpu_dra_devices{driver="gpu.nvidia.com",group="gpu-h100",product="NVIDIA H100 80GB HBM3",state="%s"} %d`
	r.eventually("metrics of free devices", 60*time.Second, r.metricsSay(fmt.Sprintf(row, "allocated", 0), fmt.Sprintf(row, "free", 16),
		`gpu_dra_nodes{group="gpu-h100",state="registered"} 2`, `gpu_dra_nodes_double_managed{group="gpu-h100"} 0`,
		`gpu_dra_pools_incomplete{driver="gpu.nvidia.com"} 0`, `gpu_dra_condition{kind="GPUNodeGroup",name="gpu-h100",reason="AllNodesRegistered",status="True",type="Ready"} 1`,
		`gpu_dra_condition{kind="GPUStack",name="main",reason="SoleManager",status="True",type="SoleManager"} 1`,
		`gpu_dra_condition{kind="GPUClaimTemplate",name="gpu-16gb-min",reason="Written",status="True",type="Ready"} 1`))

	// A burst: one pod for each card of the node, and one too many.
	began := time.Now()
	writes := r.countWrites("h100-1")
	const pods = 9
	for i := range pods {
		r.create(podWithClaim("inference", fmt.Sprint("engine-", i), "gpu-16gb-min", "h100-1"))
	}
	r.eventually("all cards of the node held", 90*time.Second, r.allocated("h100-1", "8/8"))
	took := time.Since(began)
	require.LessOrEqual(t, writes(), 2+int(took/(5*time.Second)), "writes of the GPUNode in %s", took)
	r.eventually("metrics of held devices, and of a claim that waits", 60*time.Second, r.metricsSay(fmt.Sprintf(row, "allocated", 8), fmt.Sprintf(row, "free", 8),
		`gpu_dra_claims_pending{namespace="inference",reason="NotScheduled"} 1`, `gpu_dra_claim_pending_seconds_max{namespace="inference",reason="NotScheduled"} `))

	// A claim whose class is misspelled.
	wrong := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "inference", Name: "wrong"}}
	wrong.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Name: "gpu", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: "gpu.nvida.com"}}}
	r.create(wrong)
	r.eventually("metrics of a claim of a class that is not there", 60*time.Second, r.metricsSay(`gpu_dra_claims_pending{namespace="inference",reason="ClassMissing"} 1`))
	require.NoError(t, r.client.Delete(context.Background(), wrong))

	r.endPods("inference")
	r.eventually("nothing held any more", 60*time.Second, r.allocated("h100-1", "0/8"))
	r.eventually("metrics without claims", 60*time.Second, func(ctx context.Context) error {
		if err := r.metricsSay(fmt.Sprintf(row, "allocated", 0), fmt.Sprintf(row, "free", 16))(ctx); err != nil {
			return err
		}
		text, err := r.metrics(ctx)
		if err == nil && strings.Contains(text, "gpu_dra_claim") {
			err = fmt.Errorf("claims in %s", text)
		}
		return err
	})

	r.eventually("the API server's /metrics agree with its flags", 90*time.Second, func(ctx context.Context) error {
		var s v1alpha1.GPUStack
		if err := r.client.Get(ctx, client.ObjectKey{Name: v1alpha1.StackName}, &s); err != nil {
			return err
		}
		gates := s.Status.FeatureGates
		if gates.CrossCheck == nil || gates.CrossCheck.State != "Agrees" || len(gates.Conflicts) > 0 {
			return fmt.Errorf("%+v, %+v", gates.CrossCheck, gates.Conflicts)
		}
		if gates.SliceLayout == nil || len(gates.SliceLayout.InlineCounters) > 0 {
			return fmt.Errorf("slice layout %+v", gates.SliceLayout)
		}
		return nil
	})
}

// allocated returns a check of the column ALLOCATED of a GPUNode.
func (r *rig) allocated(node, want string) func(context.Context) error {
	return func(ctx context.Context) error {
		n, err := r.node(ctx, node)
		if err == nil && n.Summary.Allocated != want {
			err = fmt.Errorf("%q, wanted %q", n.Summary.Allocated, want)
		}
		return err
	}
}

// metrics is what the controller serves.
func (r *rig) metrics(ctx context.Context) (string, error) {
	c, err := r.tryComponent("controller")
	if err != nil {
		return "", err
	}
	return fetch(ctx, http.DefaultClient, c.Endpoint+"/metrics")
}

// metricsSay returns a check that the controller's metrics have lines; one that ends in a space may have any value.
func (r *rig) metricsSay(lines ...string) func(context.Context) error {
	return func(ctx context.Context) error {
		text, err := r.metrics(ctx)
		if err != nil {
			return err
		}
		for _, want := range lines {
			if !strings.HasSuffix(want, " ") {
				want += "\n"
			}
			if !strings.Contains(text, "\n"+want) {
				var ours []string
				for _, have := range strings.Split(text, "\n") {
					if strings.HasPrefix(have, "gpu_dra_") {
						ours = append(ours, have)
					}
				}
				return fmt.Errorf("no %s in\n%s", want, strings.Join(ours, "\n"))
			}
		}
		return nil
	}
}

// countWrites watches a GPUNode; the returned function says how often it was written since.
func (r *rig) countWrites(name string) func() int {
	r.t.Helper()
	c, err := client.NewWithWatch(r.config, client.Options{Scheme: r.client.Scheme()})
	require.NoError(r.t, err)
	w, err := c.Watch(context.Background(), &v1alpha1.GPUNodeList{}, client.MatchingFields{metav1.ObjectNameField: name})
	require.NoError(r.t, err)
	counted := make(chan int)
	go func() {
		n := -1 // the first event is what is there
		for range w.ResultChan() {
			n++
		}
		counted <- n
	}()
	return func() int {
		w.Stop()
		return <-counted
	}
}
