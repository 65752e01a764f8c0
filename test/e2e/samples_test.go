//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// samples are taken of a pod's exporter once a second, as a scraper does. What counts is when each was asked for: an answer may say
// how things were long before it came.
type samples struct {
	stop  context.CancelFunc
	mu    sync.Mutex
	taken []sample
}

// sample is one scrape.
type sample struct{ asked, answered time.Time }

func (s *samples) take(ctx context.Context, n *realNode, pod *corev1.Pod) {
	for ctx.Err() == nil {
		asked := time.Now()
		if text, err := n.get(pod, "9400", "/metrics"); err == nil && strings.Contains(text, "DCGM_FI_DEV_FB_USED") {
			s.mu.Lock()
			s.taken = append(s.taken, sample{asked, time.Now()})
			s.mu.Unlock()
		}
		time.Sleep(time.Second)
	}
}

// hole is the longest time without a sample between two times, and last the last one that was asked for then.
func (s *samples) hole(from, to time.Time) (hole time.Duration, last sample) {
	s.mu.Lock()
	defer s.mu.Unlock()
	last = sample{from, from}
	for _, one := range s.taken {
		if one.asked.After(from) && !one.asked.After(to) {
			hole = max(hole, one.asked.Sub(last.asked))
			last = one
		}
	}
	return max(hole, to.Sub(last.asked)), last
}

// scraped waits for a pod that was created and begins to scrape it.
func (n *realNode) scraped(t *testing.T, pod *corev1.Pod) *samples {
	t.Helper()
	r := n.r
	r.eventually("pod "+pod.Name+" runs", 90*time.Second, r.podIs(pod.Namespace, pod.Name, corev1.PodRunning))
	require.NoError(t, r.client.Get(t.Context(), client.ObjectKeyFromObject(pod), pod))
	ctx, stop := context.WithCancel(t.Context())
	s := &samples{stop: stop}
	go s.take(ctx, n, pod)
	r.eventually("it is scraped", 30*time.Second, func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		if len(s.taken) < 2 {
			return fmt.Errorf("%d samples", len(s.taken))
		}
		return nil
	})
	return s
}
