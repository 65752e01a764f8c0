//go:build bench

// Package bench measures speed and memory at the sizes that gpu-dra is made for: the inventory, the `nodegroups` hook as
// addon-operator runs it, the long-lived processes on a real API server, and how long a change takes to be seen. It uses the
// `cluster` program and a kubeconfig, as test/e2e does. A missed target is reported and fails nothing; docs/benchmarks.md says
// what the figures mean.
package bench

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func TestMain(m *testing.M) {
	// Without one, controller-runtime complains amid the progress.
	log.SetLogger(logr.Discard())
	// Cleanups do not run when the bench is interrupted, and its clusters are large.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		downAll()
		os.Exit(130)
	}()
	code := m.Run()
	if results.len() > 0 {
		fmt.Print("\n" + results.String() + "\n")
	}
	os.Exit(code)
}
