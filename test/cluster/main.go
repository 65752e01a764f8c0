// Command cluster builds and runs a real Kubernetes control plane on this machine, with
// fake nodes beside it, for the tests and the demo of gpu-dra.
//
// Everything is built from source through generated Go modules (internal/recipe,
// internal/wrapper, internal/builder) and kept in the user's cache, then started on
// loopback with an authority of its own (internal/controlplane, internal/component). The
// real scheduler allocates real ResourceClaims there; kubelets are played by kwok, and with
// --real-nodes 1 one node is real (internal/realnode, node.go on how a test uses it).
// `cluster operator` runs the real addon-operator of Deckhouse on a module, `cluster
// controller` runs the module's controller with the rights the chart gives it, and `cluster
// pod` any container of a Pod, such as a driver's on its node.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/controlplane"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/layout"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/progress"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := newCommand().ExecuteContext(ctx)
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "Error:", err)
	stop()
	if errors.Is(err, errNotUp) {
		os.Exit(3)
	}
	var exit *exitError
	if errors.As(err, &exit) {
		os.Exit(exit.code)
	}
	os.Exit(1)
}

// errNotUp makes `status` exit with a code of its own, which scripts can tell from a failure.
var errNotUp = errors.New("the cluster is not up")

// program is what all subcommands share.
type program struct {
	name        string
	operatorDir string
	report      *progress.Reporter
}

func newCommand() *cobra.Command {
	p := &program{report: progress.New(os.Stderr)}
	root := &cobra.Command{
		Use:   "cluster",
		Short: "A real Kubernetes for tests, built from source",
		Long: `cluster builds etcd, the Kubernetes control plane, kwok and helm from source into the
user's cache (~/.cache/gpu-dra, or $GPU_DRA_CACHE_DIR) and runs them on loopback.

  cluster up                           start it (builds first what is missing)
  eval "$(cluster up)"                 the same, and KUBECONFIG points at it
  cluster up --name b                  a second one beside it
  cluster up --deckhouse-gates         with the feature gates Deckhouse sets on 1.34
  cluster status                       what runs
  cluster bin kubectl                  path of a built program
  cluster operator start --module DIR  the real addon-operator on a module
  cluster up --real-nodes 1            with a real kubelet, containerd and runc (cluster node --help)
  cluster down                         end it and leave nothing

State and logs are in ~/.cache/gpu-dra/clusters/NAME ($GPU_DRA_CLUSTERS_DIR/NAME).
Progress goes to standard error, results to standard output.`,
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.PersistentFlags().StringVar(&p.name, "name", "default", "name of the cluster; several run side by side")
	root.PersistentFlags().StringVar(&p.operatorDir, "operator-source", "",
		"folder of the Go module that pins addon-operator (default: test/operator of the repository around the working directory)")
	root.AddCommand(
		p.buildCommand(), p.binCommand(),
		p.upCommand(), p.downCommand(), p.statusCommand(), p.kubeconfigCommand(),
		p.restartCommand(), p.killCommand(),
		p.operatorCommand(), p.controllerCommand(), p.podCommand(),
		p.nodeCommand(), p.imageCommand(),
	)
	return root
}

func (p *program) cluster() (*controlplane.Cluster, error) {
	clusters, err := layout.Clusters()
	if err != nil {
		return nil, err
	}
	return controlplane.New(clusters, p.name, p.report)
}
