package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// engine serves requests the way an inference engine does: after SIGTERM it takes no new ones, says so, and needs some time to
// finish. It logs the variables that CDI injected.
//
//	GET /           one request; 503 while it drains
//	GET /?takes=8s  one that is answered after this time, while it drains too
//	GET /metrics    engine_requests_total, engine_draining
//	POST /crash     ends the process at once, without an answer
func engine(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("engine", flag.ContinueOnError)
	listen := flags.String("listen", ":8000", "address")
	drain := flags.Duration("drain", 0, "how long it needs to finish after SIGTERM")
	life := flags.Duration("life", 0, "ends by itself with 0 after this time, as a Job does; 0 is never")
	env := flags.String("log-env", "GPU_", "variables that start so are logged")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, variable := range slices.Sorted(slices.Values(os.Environ())) {
		if strings.HasPrefix(variable, *env) {
			say("env %s", variable)
		}
	}
	var requests atomic.Int64
	var draining atomic.Bool
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, r *http.Request) {
		if draining.Load() {
			http.Error(w, "draining", http.StatusServiceUnavailable)
			return
		}
		takes, err := time.ParseDuration(cmp.Or(r.URL.Query().Get("takes"), "0s"))
		if err != nil {
			http.Error(w, "takes: "+err.Error(), http.StatusBadRequest)
			return
		}
		n := requests.Add(1)
		say("request %d", n)
		time.Sleep(takes)
		fmt.Fprintln(w, "answer")
		say("request %d answered", n)
	})
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "# TYPE engine_requests_total counter\nengine_requests_total %d\n# TYPE engine_draining gauge\nengine_draining %d\n",
			requests.Load(), map[bool]int{true: 1}[draining.Load()])
	})
	mux.HandleFunc("POST /crash", func(http.ResponseWriter, *http.Request) {
		say("crashes, as it was told")
		os.Exit(3)
	})
	failed := serve(*listen, mux)
	ended := make(<-chan time.Time)
	if *life > 0 {
		ended = time.After(*life)
	}
	select {
	case err := <-failed:
		return err
	case <-ended:
		say("done after %d requests", requests.Load())
		return nil
	case <-ctx.Done():
	}
	draining.Store(true)
	say("SIGTERM after %d requests, drains for %v", requests.Load(), *drain)
	time.Sleep(*drain)
	say("drained")
	return nil
}

// serve runs an HTTP server in the background; the channel tells why it could not.
func serve(address string, handler http.Handler) <-chan error {
	server := &http.Server{Addr: address, Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() {
		if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
			failed <- err
		}
	}()
	say("listens on %s", address)
	return failed
}
