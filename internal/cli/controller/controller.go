// Package controller is the command `gpu-dra controller`.
package controller

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"os"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/gpu-dra/gpu-dra/internal/cli"
	"github.com/gpu-dra/gpu-dra/internal/controller"
)

// New returns the command.
func New() *cobra.Command {
	o := controller.Options{}
	var kubeconfig string
	var verbosity int
	c := &cobra.Command{
		Use:   "controller",
		Short: "Observe accelerators and write GPUNodes, the GPUStack and ResourceClaimTemplates (runs in the cluster)",
		Long: `Observe accelerators and write GPUNodes, the GPUStack, ResourceClaimTemplates from GPUClaimTemplates and, where no
addon-operator hooks run, GPUNodeGroups.

The chart runs it as Deployment controller and mounts its configuration. Changes of the file are followed without a restart; a
file that cannot be read leaves the last good one in force.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			o.Log = logger(c.ErrOrStderr(), verbosity)
			o.Version = c.Root().Version
			o.Namespace = os.Getenv("POD_NAMESPACE")
			hostname, err := os.Hostname()
			if err != nil {
				return &cli.Failure{Err: err}
			}
			o.Name = cmp.Or(os.Getenv("POD_NAME"), hostname)
			if o.REST, err = restConfig(kubeconfig); err != nil {
				return &cli.Failure{Err: fmt.Errorf("where the API server is: %w", err)}
			}
			if err := controller.Run(c.Context(), o); err != nil {
				return &cli.Failure{Err: err}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&o.ConfigFile, "config", "/etc/gpu-dra/config.yaml", "file with settings and profiles, as the chart renders it")
	f.BoolVar(&o.LeaderElect, "leader-elect", true, "let one of several controllers work at a time, by a Lease in its own namespace")
	f.StringVar(&o.MetricsAddress, "metrics-bind-address", ":8080", "address of /metrics, 0 for none")
	f.StringVar(&o.ProbeAddress, "health-probe-bind-address", ":8081", "address of /healthz and /readyz, 0 for none")
	f.StringVar(&o.WebhookAddress, "webhook-bind-address", "0", "address of the admission webhook, 0 for none")
	f.StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file; by default $KUBECONFIG, else the ServiceAccount of the pod")
	f.IntVarP(&verbosity, "verbosity", "v", 0, "how much to log, 0 to 9")
	return c
}

func restConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig != "" {
		return clientcmd.BuildConfigFromFlags("", kubeconfig)
	}
	return ctrl.GetConfig()
}

// logger writes JSON lines, and takes over what libraries log.
func logger(w io.Writer, verbosity int) logr.Logger {
	// Levels of logr count downwards in slog.
	log := logr.FromSlogHandler(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.Level(-verbosity)}))
	ctrl.SetLogger(log)
	klog.SetLogger(log)
	return log
}
