package metrics

import (
	"context"
	"errors"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/claimstate"
	"github.com/gpu-dra/gpu-dra/internal/inventory"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/tally"
)

const driver = "gpu.example.com"

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func collector(t *testing.T) *Collector {
	t.Helper()
	scheme := runtime.NewScheme()
	require.NoError(t, v1alpha1.AddToScheme(scheme))
	require.NoError(t, resourcev1.AddToScheme(scheme))
	profiles, err := profile.NewSet(profile.Driver{Name: "example", DriverName: driver, Classes: []profile.Class{{Name: driver}}})
	require.NoError(t, err)
	ready := []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "R"}}
	objects := []client.Object{
		&v1alpha1.GPUNode{ObjectMeta: metav1.ObjectMeta{Name: "n1"}, Status: v1alpha1.GPUNodeStatus{
			Groups: []string{"gpus"}, Devices: []v1alpha1.DeviceGroup{{Driver: driver, Product: "Big \"card\"", Count: 8}}}},
		&v1alpha1.GPUNodeGroup{ObjectMeta: metav1.ObjectMeta{Name: "gpus"}, Status: v1alpha1.GPUNodeGroupStatus{Nodes: v1alpha1.NodeCounts{Expected: 1}, Conditions: ready}},
		&v1alpha1.GPUClaimTemplate{ObjectMeta: metav1.ObjectMeta{Name: "t"}, Status: v1alpha1.GPUClaimTemplateStatus{Conditions: ready}},
		&v1alpha1.GPUStack{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.StackName}, Status: v1alpha1.GPUStackStatus{Conditions: ready}},
		&resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: driver}},
	}
	waits := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: "team", Name: "c", CreationTimestamp: metav1.NewTime(now.Add(-time.Minute)), OwnerReferences: []metav1.OwnerReference{{Kind: "Pod"}}}}
	waits.Spec.Devices.Requests = []resourcev1.DeviceRequest{{Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: driver}}}
	return &Collector{
		Client:   fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).Build(),
		Claims:   func() ([]*claimstate.Claim, error) { return []*claimstate.Claim{claimstate.Condense(waits)}, nil },
		Locate:   func(string, inventory.DeviceID) (inventory.Device, bool) { return inventory.Device{}, false },
		Synced:   func() bool { return true },
		Settings: &settings.Settings{NodeGroups: []settings.NodeGroup{{Name: "gpus", Drivers: []string{"example"}}}}, Profiles: profiles,
		Clock: clocktesting.NewFakePassiveClock(now), Log: logr.Discard(),
	}
}

// scrape is what Prometheus would get.
func scrape(t *testing.T, c *Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	require.NoError(t, registry.Register(c))
	recorder := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, recorder.Code, recorder.Body.String())
	require.True(t, registry.Unregister(c), "the next configuration brings a collector of its own")
	return recorder.Body.String()
}

func TestScrape(t *testing.T) {
	text := scrape(t, collector(t))
	for _, line := range []string{
		`gpu_dra_devices{driver="gpu.example.com",group="gpus",product="Big \"card\"",state="free"} 8`,
		`gpu_dra_claims_pending{namespace="team",reason="NotScheduled"} 1`,
		`gpu_dra_claim_pending_seconds_max{namespace="team",reason="NotScheduled"} 60`,
		`gpu_dra_nodes{group="gpus",state="missing"} 1`,
		`gpu_dra_nodes_double_managed{group="gpus"} 0`,
		`gpu_dra_pools_incomplete{driver="gpu.example.com"} 0`,
		`gpu_dra_condition{kind="GPUStack",name="main",reason="R",status="True",type="Ready"} 1`,
		`gpu_dra_condition{kind="GPUNodeGroup",name="gpus",reason="R",status="True",type="Ready"} 1`,
		`gpu_dra_condition{kind="GPUClaimTemplate",name="t",reason="R",status="True",type="Ready"} 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
}

func TestNothingIsSaidOfWhatIsNotKnown(t *testing.T) {
	c := collector(t)
	c.Claims = func() ([]*claimstate.Claim, error) { return nil, errors.New("forbidden") }
	text := scrape(t, c)
	require.NotContains(t, text, "gpu_dra_claim")
	require.NotContains(t, text, "gpu_dra_devices")
	require.Contains(t, text, "gpu_dra_nodes{")

	c.Synced = func() bool { return false }
	require.Empty(t, scrape(t, c))

	c = collector(t)
	c.Client = fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
	require.Empty(t, scrape(t, c), "an error spoils no other metrics of the process")

	c.Client = notRead{c.Client}
	began := time.Now()
	require.Empty(t, scrape(t, c))
	require.Less(t, time.Since(began), 5*timeToRead, "nor does a kind that is never read hold them up")
}

// A label that is no text costs its own sample, not the process.
func TestLabelThatIsNoText(t *testing.T) {
	c := collector(t)
	c.Client = noText{c.Client}
	text := scrape(t, c)
	require.NotContains(t, text, "gpu_dra_devices")
	require.Contains(t, text, `gpu_dra_nodes{group="gpus",state="missing"} 1`)
	require.Contains(t, text, `gpu_dra_claims_pending{namespace="team",reason="NotScheduled"} 1`)
}

// noText gives a product that no profile and no API server would have made.
type noText struct{ client.Reader }

func (r noText) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	err := r.Reader.List(ctx, list, opts...)
	if nodes, ok := list.(*v1alpha1.GPUNodeList); ok && err == nil {
		nodes.Items[0].Status.Devices[0].Product = "\xff"
	}
	return err
}

// notRead waits as the cache does for a kind that it can't read.
type notRead struct{ client.Reader }

func (notRead) List(ctx context.Context, _ client.ObjectList, _ ...client.ListOption) error {
	<-ctx.Done()
	return ctx.Err()
}

var row = regexp.MustCompile("^\\| `(gpu_dra_[a-z_]+)` \\| ([^|]*) \\| ([^|]+) \\| (.+) \\|$")

// Each metric has a row in the docs, with its labels in their order, its unit and its meaning, in both languages.
func TestMetricsAreDocumented(t *testing.T) {
	want := map[string]string{}
	for _, m := range tally.Metrics() {
		want[m.Name] = "`" + strings.Join(m.Labels, "`, `") + "`"
		require.True(t, strings.HasSuffix(m.Help, "."), m.Name)
	}
	for _, page := range []string{"metrics.md", "metrics.ru.md"} {
		data, err := os.ReadFile("../../../docs/" + page)
		require.NoError(t, err)
		got := map[string]string{}
		for _, line := range strings.Split(string(data), "\n") {
			if m := row.FindStringSubmatch(line); m != nil {
				got[m[1]] = m[2]
				require.NotEmpty(t, strings.TrimSpace(m[3]), line)
				require.NotEmpty(t, strings.TrimSpace(m[4]), line)
			}
		}
		require.Equal(t, want, got, page)
		for _, reason := range claimstate.Reasons() {
			require.Contains(t, string(data), "| `"+string(reason)+"` |", page)
		}
	}
}
