package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/controlplane"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/supervisor"
)

func (p *program) controllerCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "controller",
		Short: "Run the module's controller with the rights its chart gives it",
		Long: `Run the module's controller as a process, exactly as its Deployment in the cluster says:
its arguments and environment, its ServiceAccount's token, the files of its ConfigMaps and
Secrets. A supervisor waits for the Deployment, refreshes the token, and restarts the
process when Deployment, ConfigMaps or ServiceAccount change and when it crashes.

Mount paths become folders of this cluster, and flags that end in -bind-address,
-listen-address, -addr or -port get free loopback ports (see status). kwok calls the
Deployment's Pod Running without running it; this process is what works.`,
	}
	cmd.AddCommand(p.controllerStartCommand(), p.controllerRunCommand(), p.controllerKillCommand(), p.controllerStatusCommand(),
		p.controllerAction("stop", "End supervisor and controller gracefully", (*supervisor.Control).Stop),
		p.controllerAction("restart", "End supervisor and controller gracefully and start them again", (*supervisor.Control).Restart),
	)
	return cmd
}

func (p *program) control() (*supervisor.Control, error) {
	c, err := p.cluster()
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program's own path is unknown: %w", err)
	}
	return &supervisor.Control{Cluster: c, Self: self}, nil
}

func (p *program) controllerAction(use, short string, action func(*supervisor.Control, context.Context) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		control, err := p.control()
		if err != nil {
			return err
		}
		return action(control, cmd.Context())
	}}
}

// target are the flags that say which process to run.
type target struct{ binary, namespace, deployment string }

func (t *target) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&t.binary, "binary", "", "the program in place of the container's image")
	cmd.Flags().StringVar(&t.namespace, "namespace", "d8-gpu-dra", "namespace of the Deployment")
	cmd.Flags().StringVar(&t.deployment, "deployment", "controller", "name of the Deployment")
	if err := cmd.MarkFlagRequired("binary"); err != nil {
		panic(err)
	}
}

func (p *program) controllerStartCommand() *cobra.Command {
	var t target
	var wait time.Duration
	cmd := &cobra.Command{
		Use:   "start --binary PATH",
		Short: "Start the supervisor; it waits for the Deployment",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			control, err := p.control()
			if err != nil {
				return err
			}
			binary, err := filepath.Abs(t.binary)
			if err != nil {
				return err
			}
			if info, err := os.Stat(binary); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
				return fmt.Errorf("--binary %s: an executable file is expected there (%v)", binary, err)
			}
			err = control.Start(cmd.Context(), []string{"controller", "run", "--name=" + p.name, "--binary=" + binary,
				"--namespace=" + t.namespace, "--deployment=" + t.deployment})
			if err != nil || wait == 0 {
				return err
			}
			return p.awaitController(cmd.Context(), control, wait)
		},
	}
	t.flags(cmd)
	cmd.Flags().DurationVar(&wait, "wait", 0, "how long to wait until the process runs; 0 returns at once")
	return cmd
}

func (p *program) awaitController(ctx context.Context, control *supervisor.Control, limit time.Duration) error {
	step := p.report.Start("controller", nil)
	deadline := time.Now().Add(limit)
	for {
		status, err := supervisor.Load(control.Paths())
		if err != nil {
			return err
		}
		if status != nil && status.Phase == supervisor.Running {
			step.Done("running")
			return nil
		}
		if time.Now().After(deadline) {
			step.Done("not running")
			if status == nil {
				return fmt.Errorf("the supervisor wrote no status within %v, see %s", limit, control.Cluster.Dir.Log(supervisor.Name))
			}
			return fmt.Errorf("the controller does not run after %v: %s: %s; its log is %s", limit, status.Phase, status.Reason, control.Paths().Log)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (p *program) controllerRunCommand() *cobra.Command {
	var t target
	cmd := &cobra.Command{
		Use:    "run --binary PATH",
		Short:  "Be the supervisor, in the foreground",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			control, err := p.control()
			if err != nil {
				return err
			}
			s, err := control.New(t.namespace, t.deployment, t.binary, func(format string, args ...any) {
				p.report.Say("%s "+format, append([]any{time.Now().UTC().Format("15:04:05.000")}, args...)...)
			})
			if err != nil {
				return err
			}
			if err := os.MkdirAll(s.Paths.Root, 0o755); err != nil {
				return fmt.Errorf("the controller's folder cannot be made: %w", err)
			}
			return s.Run(cmd.Context())
		},
	}
	t.flags(cmd)
	return cmd
}

func (p *program) controllerKillCommand() *cobra.Command {
	var forGood bool
	cmd := &cobra.Command{
		Use:   "kill",
		Short: "End the controller with SIGKILL; its supervisor starts it again",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			control, err := p.control()
			if err != nil {
				return err
			}
			return control.Kill(cmd.Context(), forGood)
		},
	}
	cmd.Flags().BoolVar(&forGood, "for-good", false, "kill the supervisor too: the controller stays dead until `controller restart`")
	return cmd
}

func (p *program) controllerStatusCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the controller's process as JSON: phase, starts, arguments, addresses",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			control, err := p.control()
			if err != nil {
				return err
			}
			record, err := control.Cluster.Record()
			if err != nil {
				return err
			}
			status, err := supervisor.Load(control.Paths())
			if err != nil {
				return err
			}
			if status == nil {
				status = &supervisor.Status{Phase: supervisor.Stopped, Reason: "no controller was started in this cluster"}
			}
			if !record.Processes[supervisor.Name].Alive() && status.Phase != supervisor.Stopped {
				status.Phase, status.Reason = supervisor.Stopped, "the supervisor is gone: start it with `cluster controller restart`"
			}
			encoder := json.NewEncoder(cmd.OutOrStdout())
			encoder.SetIndent("", "  ")
			return encoder.Encode(struct {
				*supervisor.Status
				Alive      bool   `json:"alive"`
				Kubeconfig string `json:"kubeconfig"`
				Log        string `json:"log"`
			}{status, status.Process.Alive(), control.Paths().Kubeconfig(), control.Paths().Log})
		},
	}
}

// controllerRow is the controller's line in `cluster status`.
func controllerRow(c *controlplane.Cluster) *controlplane.ComponentStatus {
	paths := (&supervisor.Control{Cluster: c}).Paths()
	status, err := supervisor.Load(paths)
	if err != nil || status == nil {
		return nil
	}
	row := &controlplane.ComponentStatus{Name: supervisor.Controller, PID: status.Process.PID, Alive: status.Process.Alive(), Log: paths.Log}
	row.Ready = row.Alive
	if status.Plan != nil {
		row.Args = status.Plan.Args
		if address, ok := status.Plan.Listens["metrics-bind-address"]; ok {
			row.Endpoint = "http://" + address
		}
	}
	return row
}
