package main

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/addonoperator"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/controlplane"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

func (p *program) downCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the cluster's processes and remove its state",
		Long:  "End exactly the processes that were started for this cluster and remove its state. Safe to repeat.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.cluster()
			if err != nil {
				return err
			}
			return c.Down(cmd.Context())
		},
	}
}

func (p *program) kubeconfigCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kubeconfig",
		Short: "Print the path of the administrator's kubeconfig",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.cluster()
			if err != nil {
				return err
			}
			if _, err := c.Record(); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), c.Kubeconfig())
			return nil
		},
	}
}

func (p *program) restartCommand() *cobra.Command {
	var flags upFlags
	cmd := &cobra.Command{
		Use:   "restart COMPONENT",
		Short: "End a component and start it again on the same ports and data",
		Long: `End a component and start it again on the same ports and data, with the flags it had.
Gate flags given here are added to those of the cluster; the component's stand-in Pod then
shows the new command line. addon-operator and the controller have a restart of their own.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.cluster()
			if err != nil {
				return err
			}
			record, err := c.Record()
			if err != nil {
				return err
			}
			changed := record.Options
			if err := flags.applyGates(&changed); err != nil {
				return err
			}
			if c.Binaries, err = p.binaries(cmd.Context(), record.Options.Kubernetes, record.Options.Components); err != nil {
				return err
			}
			return c.Restart(cmd.Context(), args[0], func(options *state.Options) {
				// Errors were found above; the record may have moved on since.
				_ = flags.applyGates(options)
			})
		},
	}
	gateFlags(cmd, &flags)
	return cmd
}

func (p *program) killCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "kill COMPONENT",
		Short: "End a process of the cluster with SIGKILL and leave it so",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.cluster()
			if err != nil {
				return err
			}
			return c.Kill(cmd.Context(), args[0])
		},
	}
}

func (p *program) statusCommand() *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show what runs; exits with 3 when the cluster is not up",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "table" && output != "json" {
				return fmt.Errorf("--output %q: expected table or json", output)
			}
			c, err := p.cluster()
			if err != nil {
				return err
			}
			status, err := c.Status(cmd.Context(), endpoints)
			if err != nil {
				return err
			}
			if status == nil {
				return fmt.Errorf("%w: start %q with `cluster up --name %s`", errNotUp, p.name, p.name)
			}
			if row := controllerRow(c); row != nil {
				status.Components = append(status.Components, *row)
			}
			if output == "json" {
				encoder := json.NewEncoder(cmd.OutOrStdout())
				encoder.SetIndent("", "  ")
				return encoder.Encode(status)
			}
			return printTable(cmd.OutOrStdout(), status)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "table", "table or json")
	return cmd
}

func printTable(out io.Writer, status *controlplane.Status) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "COMPONENT\tPID\tALIVE\tREADY\tENDPOINT\tVERSION")
	for _, c := range status.Components {
		fmt.Fprintf(table, "%s\t%d\t%t\t%t\t%s\t%s\n", c.Name, c.PID, c.Alive, c.Ready, c.Endpoint, c.Version)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\ncluster %s: %s, Kubernetes v%s\nexport KUBECONFIG=%s\n",
		status.Name, status.Phase, status.Options.Kubernetes, status.Kubeconfig)
	return err
}

// endpoints of processes beside the control plane.
var endpoints = map[string]func(*state.Cluster) string{addonoperator.Name: addonoperator.Endpoint}
