package lease

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// The Lease object counts whole seconds.
var fast = Timing{Duration: 2 * time.Second, Deadline: 300 * time.Millisecond, Retry: 50 * time.Millisecond}

func of(client *fake.Clientset, identity string) Lease {
	return Lease{Namespace: "ns", Name: "work", Identity: identity, Timing: fast, Client: client.CoordinationV1()}
}

func holder(t *testing.T, client *fake.Clientset) string {
	t.Helper()
	l, err := client.CoordinationV1().Leases("ns").Get(context.Background(), "work", metav1.GetOptions{})
	if err != nil || l.Spec.HolderIdentity == nil {
		return ""
	}
	return *l.Spec.HolderIdentity
}

func TestHoldGivesBackAfterWorkEnded(t *testing.T) {
	client := fake.NewClientset()
	ctx, cancel := context.WithCancel(context.Background())
	var heldWhileEnding atomic.Bool
	started := make(chan struct{})
	result := make(chan error, 1)
	go func() {
		result <- of(client, "a").Hold(ctx, func(ctx context.Context) error {
			close(started)
			<-ctx.Done()
			time.Sleep(2 * fast.Retry)
			heldWhileEnding.Store(holder(t, client) == "a")
			return nil
		})
	}()
	<-started
	cancel()
	require.NoError(t, <-result)
	require.True(t, heldWhileEnding.Load(), "the lease is held until work has returned")
	require.Empty(t, holder(t, client), "and given back then")
}

func TestHoldReturnsTheErrorOfWork(t *testing.T) {
	want := errors.New("broken")
	err := of(fake.NewClientset(), "a").Hold(context.Background(), func(context.Context) error { return want })
	require.ErrorIs(t, err, want)
}

func TestSecondWaitsForTheFirst(t *testing.T) {
	client := fake.NewClientset()
	ctxA, endA := context.WithCancel(context.Background())
	ctxB, endB := context.WithCancel(context.Background())
	var working, most atomic.Int32
	turns := make(chan string, 2)
	work := func(name string) func(context.Context) error {
		return func(ctx context.Context) error {
			most.Store(max(most.Load(), working.Add(1)))
			turns <- name
			<-ctx.Done()
			working.Add(-1)
			return nil
		}
	}
	results := make(chan error, 2)
	go func() { results <- of(client, "a").Hold(ctxA, work("a")) }()
	require.Equal(t, "a", <-turns)
	go func() { results <- of(client, "b").Hold(ctxB, work("b")) }()
	endA()
	require.Equal(t, "b", <-turns)
	endB()
	require.NoError(t, <-results)
	require.NoError(t, <-results)
	require.EqualValues(t, 1, most.Load())
}

func TestLostLeaseStopsWorkAndIsTakenAgain(t *testing.T) {
	client := fake.NewClientset()
	var away atomic.Bool
	client.PrependReactor("*", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
		if away.Load() {
			return true, nil, errors.New("no API server")
		}
		return false, nil, nil
	})
	ctx, cancel := context.WithCancel(context.Background())
	turns, ends := make(chan struct{}, 9), make(chan struct{}, 9)
	result := make(chan error, 1)
	go func() {
		result <- of(client, "a").Hold(ctx, func(ctx context.Context) error {
			turns <- struct{}{}
			<-ctx.Done()
			ends <- struct{}{}
			return nil
		})
	}()
	<-turns
	away.Store(true)
	<-ends
	away.Store(false)
	<-turns
	cancel()
	require.NoError(t, <-result)
}

func TestHoldEndsWhileWaiting(t *testing.T) {
	client := fake.NewClientset()
	ctxA, endA := context.WithCancel(context.Background())
	defer endA()
	started := make(chan struct{})
	go func() {
		_ = of(client, "a").Hold(ctxA, func(ctx context.Context) error { close(started); <-ctx.Done(); return nil })
	}()
	<-started
	ctxB, endB := context.WithTimeout(context.Background(), 3*fast.Retry)
	defer endB()
	err := of(client, "b").Hold(ctxB, func(context.Context) error { return errors.New("not b's turn") })
	require.NoError(t, err)
	require.Equal(t, "a", holder(t, client))
}
