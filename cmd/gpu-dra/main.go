// Command gpu-dra is the one binary of gpu-dra: what the cluster runs and what people run beside it.
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/internal/cli"
	"github.com/gpu-dra/gpu-dra/internal/cli/controller"
	"github.com/gpu-dra/gpu-dra/internal/cli/guard"
	"github.com/gpu-dra/gpu-dra/internal/cli/kubeletconfig"
	"github.com/gpu-dra/gpu-dra/internal/cli/plan"
	"github.com/gpu-dra/gpu-dra/internal/cli/render"
	"github.com/gpu-dra/gpu-dra/internal/cli/sidecar"
	"github.com/gpu-dra/gpu-dra/internal/cli/values"
)

// version is set by the linker: -X main.version=v1.2.3.
var version = "dev"

// commands are the subcommands, one constructor each.
var commands = []func() *cobra.Command{
	controller.New,
	guard.New,
	kubeletconfig.New,
	plan.New,
	render.New,
	sidecar.New,
	values.New,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes one command line and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := &cobra.Command{
		Use:     "gpu-dra",
		Short:   "GPUs and other accelerators for Kubernetes through dynamic resource allocation",
		Version: version,
		// main prints errors once; a usage text below an error in a file hides the error.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("gpu-dra {{.Version}}\n")
	root.AddCommand(&cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(c *cobra.Command, _ []string) { fmt.Fprintf(c.OutOrStdout(), "gpu-dra %s\n", version) },
	})
	for _, command := range commands {
		root.AddCommand(command())
	}
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)

	failed, err := root.ExecuteContextC(ctx)
	code := cli.ExitCode(err)
	if err != nil {
		fmt.Fprintln(stderr, err)
	}
	if code == cli.ExitUsage {
		fmt.Fprintf(stderr, "See %s --help.\n", failed.CommandPath())
	}
	return code
}
