package main

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"golang.org/x/sys/unix"
)

const mebi = 1 << 20

var errEnded = errors.New("told to end")

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
	taken, err := unix.Mmap(-1, 0, *size*mebi, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return fmt.Errorf("%d MiB: %w", *size, err)
	}
	defer unix.Munmap(taken)
	// In huge pages where there are some: gigabytes page by page keep a small machine busy for half a minute.
	_ = unix.Madvise(taken, unix.MADV_HUGEPAGE)
	// Memory that nobody wrote to is in no working set.
	for i := 0; i < len(taken); i += unix.Getpagesize() {
		taken[i] = 1
	}
	say("holds %d MiB", *size)
	<-ctx.Done()
	// An evicted pod whose containers end with 0 is Succeeded to the kubelet, and what it says of the eviction is lost.
	return errEnded
}
