package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/kubeconfig"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/pki"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/podprocess"
)

func (p *program) podCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pod",
		Short: "Run a container of a Pod, as the kubelet of its node would",
	}
	cmd.AddCommand(p.podRunCommand())
	return cmd
}

// exitError is the exit code of a process that was run in the foreground.
type exitError struct{ code int }

func (e *exitError) Error() string { return fmt.Sprintf("the process ended with exit code %d", e.code) }

func (p *program) podRunCommand() *cobra.Command {
	c := &podprocess.Container{}
	cmd := &cobra.Command{
		Use:   "run --pod NAME --binary PATH --root DIR [-- ARG...]",
		Short: "Run one container in the foreground; ends with the process's exit code",
		Long: `Run one container of a Pod that is on a node as a process, in the foreground: its
arguments and environment, its files, and a token of its ServiceAccount that is bound to
the Pod, so that the API server knows the node. kwok calls such a Pod Running without
running it; this process is what works.

Mount paths, those of host volumes too, become folders below --root; the kubeconfig (also
in KUBECONFIG) and the log are there as "kubeconfig" and "log". Ports, in flags or in
variables that end in _PORT, are free ones. Arguments after -- are added to the
container's.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cluster, err := p.cluster()
			if err != nil {
				return err
			}
			record, err := cluster.Record()
			if err != nil {
				return err
			}
			if c.Client, err = cluster.Client(); err != nil {
				return err
			}
			for _, path := range []*string{&c.Binary, &c.Root} {
				if *path, err = filepath.Abs(*path); err != nil {
					return err
				}
			}
			if info, err := os.Stat(c.Binary); err != nil || info.IsDir() || info.Mode()&0o111 == 0 {
				return fmt.Errorf("--binary %s: an executable file is expected there (%v)", c.Binary, err)
			}
			c.Args, c.Mark = args, record.Mark("pod-"+c.Pod)
			c.Server = kubeconfig.Server{Name: "gpu-dra-" + record.Name, URL: component.APIServerURL(record.Ports), CAFile: cluster.Dir.Cert(pki.CA)}
			code, err := c.Run(cmd.Context())
			if err == nil && code != 0 {
				return &exitError{code}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&c.Namespace, "namespace", "d8-gpu-dra", "namespace of the Pod")
	cmd.Flags().StringVar(&c.Pod, "pod", "", "name of the Pod")
	cmd.Flags().StringVar(&c.Name, "container", "", "name of the container, an init container too; the first if left out")
	cmd.Flags().StringVar(&c.Binary, "binary", "", "the program in place of the container's image")
	cmd.Flags().StringVar(&c.Root, "root", "", "folder for its volumes, its kubeconfig and its log; a short path, since sockets may be in it")
	cmd.Flags().StringArrayVar(&c.Env, "env", nil, "NAME=VALUE over the Pod's own; may be repeated")
	for _, name := range []string{"pod", "binary", "root"} {
		if err := cmd.MarkFlagRequired(name); err != nil {
			panic(err)
		}
	}
	return cmd
}
