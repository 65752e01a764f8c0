package webhook

import (
	"context"

	"golang.org/x/sync/singleflight"
)

// together reads once for all who ask for the same at the same time: pods of one workload come in bursts, name one claim template and
// need the same Secrets. A failure that was not one's own counts for nobody else, because the object may have come since that reading
// began.
func together[T any](ctx context.Context, flights *singleflight.Group, key string, read func(context.Context) (T, error)) (T, error) {
	flight := flights.DoChan(key, func() (any, error) {
		// Who asked first may leave before the others.
		reading, stop := context.WithTimeout(context.WithoutCancel(ctx), timeToRead)
		defer stop()
		return read(reading)
	})
	select {
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	case r := <-flight:
		if r.Err != nil && r.Shared {
			return read(ctx)
		}
		out, _ := r.Val.(T)
		return out, r.Err
	}
}
