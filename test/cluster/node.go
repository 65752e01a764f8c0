package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/controlplane"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/nodeinit"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/realnode"
)

// How a test uses a real node:
//
//	cluster up --name x --real-nodes 1
//	cluster image load --name x registry.example.com/app:1 --binary PATH   (a static program; imagePullPolicy IfNotPresent or Never)
//	kubectl label node real-1 …                                             (the node's name is always real-1)
//	cluster status --name x --output json                                   (.node: addresses, root folder, workload image, logs)
//	cluster node restart-kubelet --name x --drop-in FILE
//	cluster down --name x
//
// The workload image (.node.image; test/workload) plays an engine, an exporter or one that holds memory by its first argument. The machine
// reaches Pods by their addresses; Pods and the node reach servers of the machine that listen on .node.host, and the API server
// by the Service "kubernetes". There is no kube-proxy and no DNS: other Services have no address that works, except for the API
// server itself, which goes straight to their endpoints (webhooks work). An EndpointSlice of a test's own may name .node.host.
const nodeHelp = `The real node of a cluster that was started with --real-nodes 1: kubelet, containerd and runc
in namespaces and a root folder of their own. It needs root on Linux, and runc, CNI plugins and
iproute2, which apt-get installs where they are missing. Both versions of cgroups do.

Its name is real-1. "cluster status --output json" has its addresses and folders in .node. Pods
reach the API server by the Service "kubernetes" and a test's servers on .node.host; tests reach
Pods by their own addresses. There is neither kube-proxy nor DNS, and no way out of the machine.
Images come from "cluster image load"; the workload image (.node.image) is there already.`

func (p *program) nodeCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "node", Short: "The real node of a cluster", Long: nodeHelp}
	cmd.AddCommand(p.nodeRestartKubeletCommand(), p.nodeRunCommand(), p.nodeInitCommand())
	return cmd
}

func (p *program) nodeRestartKubeletCommand() *cobra.Command {
	var dropIn string
	cmd := &cobra.Command{
		Use:   "restart-kubelet",
		Short: "Start the kubelet anew, with a file added to its configuration if one is given",
		Long: `Start the kubelet anew. --drop-in FILE adds a KubeletConfiguration to its folder of drop-ins
under the file's own name (50-reservation.conf); an empty file takes one away.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := p.cluster()
			if err != nil {
				return err
			}
			if dropIn == "" {
				return c.RestartKubelet(cmd.Context(), "", nil)
			}
			content, err := os.ReadFile(dropIn)
			if err != nil {
				return fmt.Errorf("--drop-in: %w", err)
			}
			return c.RestartKubelet(cmd.Context(), filepath.Base(dropIn), content)
		},
	}
	cmd.Flags().StringVar(&dropIn, "drop-in", "", "file with a KubeletConfiguration, its name ends in .conf")
	return cmd
}

// nodeRunCommand is the node's process on the machine; the cluster starts it.
func (p *program) nodeRunCommand() *cobra.Command {
	return specCommand("run", "Be the node's process on the machine", func(ctx context.Context, spec *realnode.Spec) error {
		return realnode.Run(ctx, spec, "/proc/self/exe", []string{"node", "init", "--spec=" + spec.File()}, os.Stderr)
	})
}

// nodeInitCommand is the first process inside the node.
func (p *program) nodeInitCommand() *cobra.Command {
	return specCommand("init", "Be the first process of the node", func(_ context.Context, spec *realnode.Spec) error {
		return nodeinit.Run(spec, os.Stdin, os.Stderr)
	})
}

func specCommand(use, short string, run func(context.Context, *realnode.Spec) error) *cobra.Command {
	var file string
	cmd := &cobra.Command{Use: use, Short: short, Hidden: true, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		spec, err := realnode.LoadSpec(file)
		if err != nil {
			return err
		}
		return run(cmd.Context(), spec)
	}}
	cmd.Flags().StringVar(&file, "spec", "", "the node's spec")
	return cmd
}

// prepareNode makes sure that the machine can have a real node, and lets the cluster use what was found.
func (p *program) prepareNode(ctx context.Context, c *controlplane.Cluster) error {
	var err error
	c.Machine, err = realnode.Prepare(ctx, os.Stderr, p.report.Say)
	return err
}
