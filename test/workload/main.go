// Command workload plays everything that runs on a real node of a test cluster, in one image without dependencies: the pause
// container, an engine that serves requests and drains, one that only holds memory, and a stand-in of dcgm-exporter, which itself
// needs NVIDIA's hardware.
// Its first argument says which; called dcgm-exporter it is that.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

const exporterName = "dcgm-exporter"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	name, args := filepath.Base(os.Args[0]), os.Args[1:]
	if name != exporterName {
		if len(args) == 0 {
			fail(fmt.Errorf("no word says what to be: expected pause, engine, exporter, hold or crash"))
		}
		name, args = args[0], args[1:]
	}
	var err error
	switch name {
	case "pause":
		<-ctx.Done()
	case "engine":
		err = engine(ctx, args)
	case "exporter", exporterName:
		err = exporter(ctx, args)
	case "hold":
		err = hold(ctx, args)
	case "crash":
		err = fmt.Errorf("crashes, as it was told")
	default:
		err = fmt.Errorf("%q is none of pause, engine, exporter, hold, crash", name)
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	say("%v", err)
	os.Exit(1)
}

// say writes a line with the time to the log: tests compare the order of what happened in several containers of one node.
func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, time.Now().UTC().Format(time.RFC3339Nano)+" "+format+"\n", args...)
}
