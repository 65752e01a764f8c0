package webhook

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/singleflight"
)

// burst asks for one thing from many sides at once; while all wait, the reading is let go.
func burst(t *testing.T, ctx func(i int) context.Context, read func(context.Context, int32) (string, error)) (readings int32, got []string, failed int) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var flights singleflight.Group
		var begun atomic.Int32
		release := make(chan struct{})
		var mu sync.Mutex
		var group sync.WaitGroup
		for i := range 50 {
			group.Go(func() {
				out, err := together(ctx(i), &flights, "secrets/a/mirror", func(ctx context.Context) (string, error) {
					n := begun.Add(1)
					<-release
					return read(ctx, n)
				})
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed++
					return
				}
				got = append(got, out)
			})
			if i == 0 {
				synctest.Wait() // the first one begins the reading
			}
		}
		synctest.Wait()
		close(release)
		group.Wait()
		readings = begun.Load()
	})
	return readings, got, failed
}

func always(int) context.Context { return context.Background() }

func TestABurstReadsOnce(t *testing.T) {
	readings, got, failed := burst(t, always, func(context.Context, int32) (string, error) { return "it", nil })
	require.Equal(t, int32(1), readings)
	require.Len(t, got, 50)
	require.Zero(t, failed)
}

// What was missing when the first one asked may be there for the others.
func TestAFailureIsNobodyElses(t *testing.T) {
	_, got, failed := burst(t, always, func(_ context.Context, reading int32) (string, error) {
		if reading == 1 {
			return "", errors.New("not found")
		}
		return "it", nil
	})
	require.Len(t, got, 50)
	require.Zero(t, failed)
}

func TestWhoLeavesTakesNobodyAlong(t *testing.T) {
	gone, leave := context.WithCancel(context.Background())
	leave()
	readings, got, failed := burst(t, func(i int) context.Context {
		if i == 0 {
			return gone
		}
		return context.Background()
	}, func(ctx context.Context, _ int32) (string, error) { return "it", ctx.Err() })
	require.Equal(t, int32(1), readings)
	require.Len(t, got, 49)
	require.Equal(t, 1, failed)
}
