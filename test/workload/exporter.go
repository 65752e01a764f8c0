package main

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"
)

// options are those of dcgm-exporter that mean something without its hardware, as flags and as variables.
type options struct {
	listen     string
	collectors string
	kubernetes bool
	claims     bool
	interval   int
	socket     string
	node       string
}

// exporterOptions takes the variables as defaults of the flags, as dcgm-exporter does. An unknown flag is an error there too.
func exporterOptions(args []string) (options, error) {
	var o options
	flags := flag.NewFlagSet(exporterName, flag.ContinueOnError)
	text := func(target *string, value string, names ...string) {
		for _, name := range names {
			flags.StringVar(target, name, value, "")
		}
	}
	truth := func(target *bool, variable string, names ...string) {
		for _, name := range names {
			flags.BoolVar(target, name, os.Getenv(variable) == "true", "")
		}
	}
	text(&o.listen, env("DCGM_EXPORTER_LISTEN", ":9400"), "address", "a")
	text(&o.collectors, env("DCGM_EXPORTER_COLLECTORS", defaultCollectors), "collectors", "f")
	text(&o.socket, env("DCGM_POD_RESOURCES_KUBELET_SOCKET", "/var/lib/kubelet/pod-resources/kubelet.sock"), "pod-resources-kubelet-socket")
	truth(&o.kubernetes, "DCGM_EXPORTER_KUBERNETES", "kubernetes", "k")
	truth(&o.claims, "KUBERNETES_ENABLE_DRA", "kubernetes-enable-dra")
	interval, err := strconv.Atoi(env("DCGM_EXPORTER_INTERVAL", "30000"))
	if err != nil {
		return o, fmt.Errorf("DCGM_EXPORTER_INTERVAL: %w", err)
	}
	for _, name := range []string{"collect-interval", "c"} {
		flags.IntVar(&o.interval, name, interval, "")
	}
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if o.interval <= 0 {
		return o, fmt.Errorf("collect-interval %d: expected milliseconds above 0", o.interval)
	}
	o.node = env("NODE_NAME", hostname())
	return o, nil
}

func env(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}

func hostname() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// exporter is the stand-in: dcgm-exporter's names and labels, and figures that are made up. On a node (DCGM_EXPORTER_KUBERNETES) it
// knows the devices that the kubelet says are in use, and by whom; in a Pod it knows the devices that CDI injected, and nobody.
//
// In the Pod that STAND_IN_CRASHES_IN names (POD_NAME says which one this is) it crashes whenever it starts.
func exporter(ctx context.Context, args []string) error {
	if pod := os.Getenv("STAND_IN_CRASHES_IN"); pod != "" && pod == os.Getenv("POD_NAME") {
		return fmt.Errorf("crashes in pod %s, as it was told", pod)
	}
	o, err := exporterOptions(args)
	if err != nil {
		return err
	}
	names, err := readCollectors(o.collectors)
	if err != nil {
		return err
	}
	find := injected
	if o.kubernetes {
		find = func(ctx context.Context) ([]device, error) { return inUse(ctx, o.socket, false) }
	}
	if o.kubernetes && o.claims {
		find = func(ctx context.Context) ([]device, error) { return named(ctx, o.socket, inCluster(), o.node) }
	}
	var page collected
	collect := func() {
		devices, err := find(ctx)
		if err != nil {
			say("collect: %v", err)
			return
		}
		page.set(render(names, devices, o.node))
	}
	collect()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, page.get())
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "OK") })
	failed := serve(o.listen, mux)
	tick := time.NewTicker(time.Duration(o.interval) * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-failed:
			return err
		case <-tick.C:
			collect()
		case <-ctx.Done():
			say("SIGTERM, ends")
			return nil
		}
	}
}
