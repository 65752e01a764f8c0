package main

import (
	"context"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What is held is in the process's memory, not only in its address space.
func TestHoldIsResident(t *testing.T) {
	const size = 64
	before := resident(t)
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- hold(ctx, []string{"--mib", strconv.Itoa(size)}) }()
	for deadline := time.Now().Add(10 * time.Second); resident(t)-before < size*mebi*3/4; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("resident grew by %d bytes, expected some %d MiB", resident(t)-before, size)
		}
	}
	end()
	if err := <-ended; !errors.Is(err, errEnded) {
		t.Error(err)
	}
}

func TestHoldNeedsASize(t *testing.T) {
	for _, args := range [][]string{nil, {"--mib", "-1"}, {"--mib", "much"}} {
		if err := hold(t.Context(), args); err == nil {
			t.Errorf("%q: no error", args)
		}
	}
}

// resident returns the bytes of this process that are in memory.
func resident(t *testing.T) int {
	t.Helper()
	statm, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		t.Fatal(err)
	}
	return pages * os.Getpagesize()
}
