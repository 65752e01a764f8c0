package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
)

const mebi = 1 << 20

// hold takes memory and keeps it until SIGTERM, to bring a node to where its kubelet evicts.
func hold(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("hold", flag.ContinueOnError)
	size := flags.Int("mib", 0, "how many MiB, above zero")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *size <= 0 {
		return fmt.Errorf("--mib %d: expected a number of MiB above zero", *size)
	}
	taken := make([]byte, *size*mebi)
	// Memory that nobody wrote to is in no working set.
	for i := 0; i < len(taken); i += 4096 {
		taken[i] = 1
	}
	say("holds %d MiB", *size)
	<-ctx.Done()
	runtime.KeepAlive(taken)
	return nil
}
