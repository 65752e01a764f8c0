package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// readiness is why the process is not ready; empty when it is.
type readiness struct{ reason atomic.Pointer[string] }

func newReadiness(reason string) *readiness {
	r := &readiness{}
	r.set(reason)
	return r
}

func (r *readiness) set(reason string) { r.reason.Store(&reason) }

// all is ready when every part is; else it gives the reason of the first that is not.
type all []*readiness

func (a all) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	for _, r := range a {
		if reason := *r.reason.Load(); reason != "" {
			http.Error(w, reason, http.StatusServiceUnavailable)
			return
		}
	}
	fmt.Fprintln(w, "ok")
}

// serveProbes answers /healthz and /readyz until ctx ends. The process is healthy as long as it answers: what it cannot read
// or write, a restart would not bring.
func serveProbes(ctx context.Context, address string, ready ...*readiness) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("/readyz", all(ready))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("probes: %w", err)
	}
	return nil
}
