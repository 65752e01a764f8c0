//go:build bench

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/fleet"
)

const (
	// regenerating are the nodes of the fleet, regenerated the time in which every one of them publishes anew.
	regenerating = 500
	regenerated  = time.Minute
)

// TestRegeneration measures how long a change waits while all nodes change: 500 drivers publish their next generation with a card
// less, at even intervals within a minute and in no order, as after a rollout. Each latency is that from the driver's request until a
// watch delivers the GPUNode with that generation. Every change goes on to the GPUNodeGroup and to addon-operator's hooks.
func TestRegeneration(t *testing.T) {
	r := up(t, "regeneration")
	r.install("None")
	r.populate(0, regenerating, fleet.Layout{Cards: cards})
	r.await(fmt.Sprintf("%d nodes", regenerating), syncLimit, func(ctx context.Context) error { return r.ready(ctx, regenerating) })
	next := r.nextGenerations(cards - 1)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	watcher, err := r.custom.Watch(ctx, &v1alpha1.GPUNodeList{})
	require.NoError(t, err)
	defer watcher.Stop()
	seen := &generationsSeen{want: next, at: map[string]time.Time{}, all: make(chan struct{})}
	go seen.follow(watcher)

	controller := r.controller().Process.PID
	before := r.usage(controller).cpu
	began := time.Now()
	sent := r.regenerate(next)
	select {
	case <-seen.all:
	case <-time.After(lost):
		require.Fail(t, "changes that never came", "%d of %d nodes", len(next)-seen.count(), len(next))
	}
	took := time.Since(began)
	share := float64(r.usage(controller).cpu-before) / float64(took)

	var waited []time.Duration
	for node, at := range seen.at {
		waited = append(waited, at.Sub(sent[node]))
	}
	slices.Sort(waited)
	p50, p99 := quantile(waited, 0.5), quantile(waited, 0.99)
	results.add(sectionRegeneration, fmt.Sprintf("%dx%d: slice change -> GPUNode status, p50 / p99", regenerating, cards),
		fmt.Sprintf("%.2f / %.2f s", p50.Seconds(), p99.Seconds()), "")
	results.add(sectionRegeneration, fmt.Sprintf("%dx%d: the longest of all", regenerating, cards), fmt.Sprintf("%.2f s", waited[len(waited)-1].Seconds()), "")
	results.add(sectionRegeneration, fmt.Sprintf("%dx%d: controller CPU meanwhile", regenerating, cards), fmt.Sprintf("%.1f%%", 100*share), "")
	t.Logf("%s: all %d nodes within %.1f s, shortest %v, longest %v", r.name, len(waited), took.Seconds(), waited[0], waited[len(waited)-1])
	r.await("all groups count what is left", syncLimit, func(ctx context.Context) error { return r.count(ctx, regenerating*(cards-1)) })
}

// count says whether the groups have so many cards in all.
func (r *rig) count(ctx context.Context, cards int) error {
	var list v1alpha1.GPUNodeGroupList
	if err := r.custom.List(ctx, &list); err != nil {
		return err
	}
	have := 0
	for i := range list.Items {
		have += physical(&list.Items[i])
	}
	if have != cards {
		return fmt.Errorf("the groups have %d cards, wanted %d", have, cards)
	}
	return nil
}

// nextGenerations are the slices that every node's driver publishes next, with so many cards, by node.
func (r *rig) nextGenerations(cards int) map[string]*resourcev1.ResourceSlice {
	r.t.Helper()
	m, err := fleet.Load(model)
	require.NoError(r.t, err)
	nodes, err := r.typed.CoreV1().Nodes().List(context.Background(), metav1.ListOptions{})
	require.NoError(r.t, err)
	list, err := r.typed.ResourceV1().ResourceSlices().List(context.Background(), metav1.ListOptions{})
	require.NoError(r.t, err)
	out := map[string]*resourcev1.ResourceSlice{}
	for i := range list.Items {
		out[*list.Items[i].Spec.NodeName] = &list.Items[i]
	}
	require.Len(r.t, out, len(list.Items), "one slice a node")
	for i := range nodes.Items {
		made, err := m.Slices(&nodes.Items[i], fleet.Layout{Cards: cards})
		require.NoError(r.t, err)
		require.Len(r.t, made, 1)
		s := out[nodes.Items[i].Name]
		s.Spec.Pool.Generation++
		s.Spec.Devices = made[0].Spec.Devices
	}
	return out
}

// regenerate publishes them and returns when each request was sent.
func (r *rig) regenerate(next map[string]*resourcev1.ResourceSlice) map[string]time.Time {
	r.t.Helper()
	var mu sync.Mutex
	sent := map[string]time.Time{}
	group, ctx := errgroup.WithContext(context.Background())
	names := make([]string, 0, len(next))
	for name := range next {
		names = append(names, name)
	}
	rand.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	began := time.Now()
	for i, name := range names {
		time.Sleep(time.Until(began.Add(regenerated * time.Duration(i) / time.Duration(len(names)))))
		// A node waits for no other.
		group.Go(func() error {
			mu.Lock()
			sent[name] = time.Now()
			mu.Unlock()
			_, err := r.typed.ResourceV1().ResourceSlices().Update(ctx, next[name], metav1.UpdateOptions{})
			return err
		})
	}
	require.NoError(r.t, group.Wait())
	return sent
}

// generationsSeen is when the generation that is wanted of each node was first in its GPUNode.
type generationsSeen struct {
	want map[string]*resourcev1.ResourceSlice
	mu   sync.Mutex
	at   map[string]time.Time
	all  chan struct{}
}

func (g *generationsSeen) follow(watcher watch.Interface) {
	for e := range watcher.ResultChan() {
		at := time.Now()
		node, is := e.Object.(*v1alpha1.GPUNode)
		if !is || g.want[node.Name] == nil || generation(node) != g.want[node.Name].Spec.Pool.Generation {
			continue
		}
		g.mu.Lock()
		if g.at[node.Name].IsZero() {
			g.at[node.Name] = at
			if len(g.at) == len(g.want) {
				close(g.all)
			}
		}
		g.mu.Unlock()
	}
}

func (g *generationsSeen) count() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.at)
}

// generation of the only pool of a node, or 0.
func generation(node *v1alpha1.GPUNode) int64 {
	for _, d := range node.Status.Drivers {
		for _, p := range d.Pools {
			return p.Generation
		}
	}
	return 0
}
