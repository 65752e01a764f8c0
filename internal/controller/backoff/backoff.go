// Package backoff says how soon the controllers try again after an error.
package backoff

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// First and longest pause between attempts at one object.
const (
	First   = 200 * time.Millisecond
	Longest = 30 * time.Second
)

// Limiter doubles the pause of an object with each error. The default of controller-runtime also lets only ten objects a
// second of all try again, and one at last every 17 minutes: after an API server was away for a moment, a big fleet would take
// that long to catch up. The client's own limit protects the API server.
func Limiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](First, Longest)
}
