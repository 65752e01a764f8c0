// Package guard is the command `gpu-dra guard`.
package guard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/internal/cli"
)

// errStopped says that the guard was told to end before the node was clear. It ends with an error all the same: an init
// container that is stopped by hand and ends with 0 would let the driver start.
var errStopped = errors.New("stopped before the node was clear")

// options of the command line.
type options struct {
	node, kubeconfig, terminationLog string
	pluginResources                  []string
	managerLabels                    []string
	waitFor                          []string
	timeout                          time.Duration
}

// New returns the command.
func New() *cobra.Command { return command(wallClock{}) }

func command(clock clock) *cobra.Command {
	o := options{}
	c := &cobra.Command{
		Use:   "guard",
		Short: "Wait until nobody else hands out the accelerators of a node (init container of driver pods)",
		Long: `Wait until nobody else hands out the accelerators of a node and what a driver needs on the host is there.

The chart runs it as init container of driver pods, so that no card is given out twice. It ends with 0 when the node is clear,
and with 1 when that was not so in time, or cannot become so by waiting; why stands on standard error and in the pod's status.
It reads one Node and writes nothing to the cluster.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			err := o.run(c.Context(), clock, c.ErrOrStderr())
			if err != nil && !errors.Is(err, errStopped) {
				if failed := leaveMessage(o.terminationLog, err.Error()); failed != nil {
					fmt.Fprintln(c.ErrOrStderr(), "the reason is not left for the pod's status:", failed)
				}
			}
			return err
		},
	}
	f := c.Flags()
	f.StringVar(&o.node, "node", "", "name of the Node that is guarded (default $NODE_NAME)")
	f.StringArrayVar(&o.pluginResources, "plugin-resource", nil,
		"extended resource of a device plugin that must not be allocatable, or such a prefix with a * at its end; repeatable")
	f.StringArrayVar(&o.managerLabels, "manager-label", nil,
		"label of another manager that the Node must not carry, `key[=value,value]`, without values any; repeatable")
	f.StringArrayVar(&o.waitFor, "wait-for", nil,
		"what has to be there first, `what=/path[,/path]` in words and by paths of which one has to exist; repeatable")
	f.DurationVar(&o.timeout, "timeout", 2*time.Minute, "how long to wait")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file; by default the ServiceAccount of the pod")
	f.StringVar(&o.terminationLog, "termination-log", "/dev/termination-log", "file for the reason of a failure, if there is such a file")
	return c
}

func (o options) run(ctx context.Context, clock clock, log io.Writer) error {
	o.node = cmp.Or(o.node, os.Getenv("NODE_NAME"))
	rules, waits, err := o.parse()
	if err != nil {
		return err
	}
	read, err := nodeReader(o.kubeconfig)
	if err != nil {
		return &cli.Failure{Err: fmt.Errorf("where the API server is: %w", err)}
	}
	w := watch{node: o.node, rules: rules, waits: waits, timeout: o.timeout, read: read, clock: clock, log: log}
	if err := w.run(ctx); err != nil {
		return &cli.Failure{Err: err}
	}
	return nil
}
