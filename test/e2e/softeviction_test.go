//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/reservation"
)

const (
	mebi = int64(1) << 20
	gibi = 1 << 10 * mebi
	// fillingTime is that of some ten pods: each time other tests give memory back it takes one more.
	fillingTime = 5 * time.Minute
)

// evictsWhereHeadroomEnds fills the node beyond what the core leaves to pods and daemons together. Short of that the kubelet is
// content; past it, it reports pressure and evicts, and names the very threshold that the core's headroom ends at.
func (n *realNode) evictsWhereHeadroomEnds(t *testing.T) {
	t.Helper()
	r := n.r
	platform, edge := n.contentWithinHeadroom(t)
	f := &filling{n: n, edge: edge}
	r.eventually("headroom used up -> pressure", fillingTime, func(ctx context.Context) error {
		if err := f.fill(ctx); err != nil {
			return err
		}
		pressed, err := n.pressed(ctx)
		if err == nil && !pressed {
			err = fmt.Errorf("no pressure with %s, headroom ends at %d MiB", f, edge/mebi)
		}
		return err
	})
	var said []string
	r.eventually("grace period over -> evicted", 90*time.Second, func(ctx context.Context) error {
		if err := f.fill(ctx); err != nil {
			return err
		}
		if said = f.evicted; said == nil {
			return fmt.Errorf("none is, with %s: %s", f, f.said)
		}
		return nil
	})
	threshold, err := resource.ParseQuantity(said[1])
	require.NoError(t, err, said)
	available, err := resource.ParseQuantity(said[2])
	require.NoError(t, err, said)
	capacity := n.memory(t).capacity
	t.Logf("headroom ends at %d MiB in use, the kubelet evicts at %d MiB; it took %s", edge/mebi, (capacity-threshold.Value())/mebi, f)
	require.Equal(t, edge, capacity-threshold.Value(), "where the kubelet evicts is where headroom ends")
	require.Less(t, available.Value(), threshold.Value())
	require.Greater(t, available.Value(), platform.EvictionHard(capacity), "soft eviction, not the hard one")
}

// contentWithinHeadroom gives the kubelet thresholds and a reservation, and watches that it is content while pods and daemons have not
// used up what the core leaves them. It returns the bytes in use at which that ends.
//
// The thresholds are none of a distribution's: other tests use the machine too, and a soft threshold a quarter below what it has
// available can be reached and is not met by chance. Where the others do come near to it, it is chosen anew.
func (n *realNode) contentWithinHeadroom(t *testing.T) (reservation.Platform, int64) {
	t.Helper()
	for range 3 {
		found, err := n.usage(t.Context())
		require.NoError(t, err)
		require.Greater(t, found.available, 4*gibi, "this test needs that much of the machine's memory")
		soft := found.available * 3 / 4 / mebi
		spec := profile.KubeletMemory{EvictionHard: "100Mi", EvictionSoft: strconv.FormatInt(soft, 10) + "Mi"}
		n.configureEviction(t, spec, (soft+256)*mebi)
		platform, err := reservation.NewPlatform(spec)
		require.NoError(t, err)
		// What the core makes of the node as the kubelet reports it.
		m := n.memory(t)
		reserved, ok := platform.Measured(&v1alpha1.NodeMemory{Capacity: *reservation.Quantity(m.capacity),
			Allocatable: *reservation.Quantity(m.allocatable), HugePages: reservation.Quantity(m.hugepages)})
		require.True(t, ok)
		edge := m.allocatable + m.hugepages + platform.Headroom(m.capacity, reserved)
		if n.content(t, edge) {
			return platform, edge
		}
	}
	require.Fail(t, "other processes of the machine used up a quarter of its memory, three times")
	return reservation.Platform{}, 0
}

// content watches for longer than the kubelet takes to look twice (every 10 s) that it reports no pressure. It is false where others
// have used the node's memory up.
func (n *realNode) content(t *testing.T, edge int64) bool {
	t.Helper()
	const slack = 512 * mebi
	most := int64(0)
	for start := time.Now(); time.Since(start) < 25*time.Second; time.Sleep(500 * time.Millisecond) {
		used, err := n.usage(t.Context())
		require.NoError(t, err)
		pressed, err := n.pressed(t.Context())
		require.NoError(t, err)
		if most = max(most, used.workingSet); most > edge-slack {
			return false
		}
		require.False(t, pressed, "pressure, and at most %d MiB were in use: headroom ends at %d MiB", most/mebi, edge/mebi)
	}
	return true
}

// filling uses the node's memory up by pods, as many as it takes: what others use goes up and down meanwhile.
type filling struct {
	n      *realNode
	edge   int64
	pods   int
	newest time.Time
	used   int64
	// said is what the pods' statuses say.
	said []string
	// evicted is what the kubelet says of a pod that it evicted: threshold and what was available.
	evicted []string
}

func (f *filling) String() string {
	return fmt.Sprintf("%d pods and %d MiB in use", f.pods, f.used/mebi)
}

var thresholdMet = regexp.MustCompile(`Threshold quantity: (\S+), available: (\S+)\.`)

func (f *filling) fill(ctx context.Context) error {
	const label = "holds-memory"
	var pods corev1.PodList
	if err := f.n.r.client.List(ctx, &pods, client.InNamespace("inference"), client.HasLabels{label}); err != nil {
		return err
	}
	f.said = nil
	for _, p := range pods.Items {
		f.said = append(f.said, fmt.Sprintf("%s %s %s %s", p.Name, p.Status.Phase, p.Status.Reason, p.Status.Message))
		if said := thresholdMet.FindStringSubmatch(p.Status.Message); p.Status.Reason == "Evicted" && said != nil {
			f.evicted = said
		}
	}
	now, err := f.n.usage(ctx)
	if err != nil {
		return err
	}
	f.used = now.workingSet
	// To take so much takes its time where the machine itself is given its memory only as it is used.
	if f.pods > 0 {
		said, err := f.n.r.tryProgram("kubectl", "logs", "--namespace", "inference", fmt.Sprint("hold-", f.pods))
		if err != nil || !strings.Contains(said, "holds ") {
			return nil
		}
	}
	// The figures of the kubelet may be some seconds old.
	if f.evicted != nil || f.used > f.edge+256*mebi || time.Since(f.newest) < 25*time.Second {
		return nil
	}
	f.pods, f.newest = f.pods+1, time.Now()
	pod := f.n.workload("inference", fmt.Sprint("hold-", f.pods), "hold", "--mib", strconv.FormatInt((f.edge+2*gibi-f.used)/mebi, 10))
	pod.Labels = map[string]string{label: ""}
	// Under pressure the kubelet takes no pod that requests nothing.
	pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Mi")}
	return f.n.r.client.Create(ctx, pod)
}
