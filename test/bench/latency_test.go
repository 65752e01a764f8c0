//go:build bench

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/fleet"
)

const (
	// changes of each kind.
	changes = 40
	// latencyTarget for the 99th percentile.
	latencyTarget = time.Second
	// cards that a node has at first.
	cards = 8
	// poll of addon-operator's values, which nobody can watch: the resolution of that figure.
	poll = 5 * time.Millisecond
	// lost is when a change is given up.
	lost = time.Minute
)

// TestLatency measures how long it takes from a driver's request to the API server until the change is in the GPUNodeGroup's
// status, as a watch tells, and until a fact that templates rest on is in the module's values. It does not follow the sizes:
// a change of one node among few and among many.
func TestLatency(t *testing.T) {
	r := up(t, "latency")
	r.install("None")
	debug := r.debug()
	made := 0
	for _, nodes := range []int{1, 500} {
		r.populate(made, nodes, fleet.Layout{Cards: cards})
		made = nodes
		r.await(fmt.Sprintf("%d nodes", nodes), syncLimit, func(ctx context.Context) error { return r.ready(ctx, nodes) })
		l := &latency{rig: r, debug: debug, publisher: r.publisher(0), group: groupName(0), most: cards}
		if have, err := debug.devicesPerNode(l.group); err == nil {
			l.most = max(l.most, have)
		}
		l.report(fmt.Sprintf("among %d: slice change -> GPUNodeGroup status", nodes), l.status())
		l.report(fmt.Sprintf("among %d: more cards than ever -> module values", nodes), l.values())
	}
}

// latency of changes on one node.
type latency struct {
	*rig
	debug     *operatorDebug
	publisher *publisher
	group     string
	// most cards that the node ever had.
	most int
}

// status toggles the number of cards below what the node had before: the group's counts follow, and nothing else does.
func (l *latency) status() []time.Duration {
	l.t.Helper()
	watcher, err := l.custom.Watch(context.Background(), &v1alpha1.GPUNodeGroupList{})
	require.NoError(l.t, err)
	defer watcher.Stop()
	others := l.othersInGroup()
	var out []time.Duration
	for i := range changes {
		l.pause()
		n := cards - 1 - i%2
		sent := l.publisher.publish(n)
		out = append(out, l.awaitCount(watcher, others+n).Sub(sent))
	}
	return out
}

// othersInGroup is how many cards the other nodes of the group have.
func (l *latency) othersInGroup() int {
	l.t.Helper()
	own := len(l.publisher.slice.Spec.Devices)
	var g v1alpha1.GPUNodeGroup
	require.NoError(l.t, l.custom.Get(context.Background(), client.ObjectKey{Name: l.group}, &g))
	return physical(&g) - own
}

func (l *latency) awaitCount(watcher watch.Interface, want int) time.Time {
	l.t.Helper()
	timeout := time.After(lost)
	for {
		select {
		case e, ok := <-watcher.ResultChan():
			at := time.Now()
			require.True(l.t, ok, "the watch ended")
			if g, is := e.Object.(*v1alpha1.GPUNodeGroup); is && g.Name == l.group && physical(g) == want {
				return at
			}
		case <-timeout:
			require.Fail(l.t, "the change never came", "group %s was to have %d cards", l.group, want)
		}
	}
}

// values raises the high-water count of the node, one card at a time: the only fact of a slice that the values follow.
func (l *latency) values() []time.Duration {
	l.t.Helper()
	var out []time.Duration
	for range changes {
		l.pause()
		l.most++
		sent := l.publisher.publish(l.most)
		for {
			got, err := l.debug.devicesPerNode(l.group)
			at := time.Now()
			require.NoError(l.t, err)
			if got == l.most {
				out = append(out, at.Sub(sent))
				break
			}
			require.Less(l.t, at.Sub(sent), lost, "the values never followed")
			time.Sleep(poll)
		}
	}
	return out
}

// pause lets what the last change began come to its end, the Helm upgrade after changed values included, and then some, so
// that changes do not keep time with anything.
func (l *latency) pause() {
	l.t.Helper()
	start := time.Now()
	for l.debug.idle(context.Background()) != nil {
		require.Less(l.t, time.Since(start), lost, "addon-operator is never idle")
		time.Sleep(20 * time.Millisecond)
	}
	time.Sleep(200*time.Millisecond + rand.N(500*time.Millisecond))
}

func (l *latency) report(what string, took []time.Duration) {
	l.t.Helper()
	slices.Sort(took)
	p50, p99 := quantile(took, 0.5), quantile(took, 0.99)
	results.judge(sectionLatency, what, fmt.Sprintf("%.2f / %.2f s", p50.Seconds(), p99.Seconds()), fmt.Sprintf("<= %.0f s", latencyTarget.Seconds()),
		ratio(p99.Seconds()/latencyTarget.Seconds()), p99 <= latencyTarget)
	l.t.Logf("%s: %s: %v", l.name, what, took)
}

// physical cards of a group.
func physical(g *v1alpha1.GPUNodeGroup) int {
	n := 0
	for _, d := range g.Status.Drivers {
		n += int(d.Devices.Physical)
	}
	return n
}
