// Command observe is what `make demo REAL_NODE=1` watches with. It stands in for Prometheus: it scrapes one pod as a PodMonitor of
// the chart says, and gives the samples the labels that this PodMonitor gives them. From the samples, from what the pod's
// containers logged and from the pod's status it puts together how the pod ended.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "observe:", err)
		os.Exit(1)
	}
}

const words = "scrape, labels, timeline"

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return fmt.Errorf("no word says what to do: expected one of %s", words)
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	pod := flags.String("pod", "", "file with the pod, one JSON object after the other as `kubectl get --watch` writes them")
	samples := flags.String("samples", "", "file of the samples")
	monitors := flags.String("monitors", "", "scrape: file with PodMonitors, as Helm renders them")
	monitor := flags.String("monitor", "exporter-sidecars", "scrape: name of the PodMonitor")
	metric := flags.String("metric", "", "labels: whose newest sample is printed")
	engine := flags.String("engine-log", "", "timeline: log of the engine, with timestamps")
	sidecar := flags.String("sidecar-log", "", "timeline: log of the sidecar, with timestamps")
	deleted := flags.String("deleted", "", "timeline: when the pod was deleted, RFC 3339")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	switch args[0] {
	case "scrape":
		return scrape(ctx, *monitors, *monitor, *pod, *samples)
	case "labels":
		return labels(out, *samples, *metric)
	case "timeline":
		at, err := time.Parse(time.RFC3339Nano, *deleted)
		if err != nil {
			return fmt.Errorf("--deleted: %w", err)
		}
		return timeline(out, *pod, *samples, *engine, *sidecar, at)
	}
	return fmt.Errorf("%q is none of %s", args[0], words)
}
