// Package kubeletconfig is the command `gpu-dra kubelet-config`: the recommended memory reservation of a node group as
// configuration of its kubelets, for clusters where nothing writes it.
package kubeletconfig

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/cli"
	"github.com/gpu-dra/gpu-dra/internal/cli/source"
)

// options of a command line.
type options struct {
	nodeGroup, kubeconfig, context, file string
	numa                                 []string
}

// New returns the command.
func New() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "kubelet-config --node-group NAME [--kubeconfig FILE | --file FILE] [--numa BYTES,BYTES...]",
		Short: "Print the kubelet configuration that reserves the recommended memory for a node group",
		Long: `Print the kubelet configuration that reserves the recommended memory for a node group, with the reason as comments.

The figure is that of the GPUNodeGroup's status: of the cluster that the kubeconfig names, or of a file ("-" is standard
input) with GPUNodeGroups as kubectl prints them. Nothing is written anywhere.

--numa gives the memory of each NUMA node in turn, less its huge pages (MemTotal and HugePages_Total in
/sys/devices/system/node/node*/meminfo). Then reservedMemory is printed too, which the kubelet's static memory manager needs:
the sum to the byte, shared out in proportion.`,
		Example: `  gpu-dra kubelet-config --node-group gpu-h100 > /etc/kubernetes/kubelet.conf.d/50-gpu-dra.conf
  kubectl get gng -o yaml | gpu-dra kubelet-config --node-group gpu-h100 --file - --numa 1056612Mi,1056612Mi`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := source.Alone(o.file, o.kubeconfig, o.context); err != nil {
				return err
			}
			numa, err := memories(o.numa)
			if err != nil {
				return err
			}
			text, err := o.print(c, numa)
			if err != nil {
				return &cli.Failure{Err: err}
			}
			if _, err := c.OutOrStdout().Write(text); err != nil {
				return &cli.Failure{Err: err}
			}
			return nil
		},
	}
	f := c.Flags()
	f.StringVar(&o.nodeGroup, "node-group", "", "name of the GPUNodeGroup")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig to read the GPUNodeGroup with; by default as kubectl finds it")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig (default its current one)")
	f.StringVarP(&o.file, "file", "f", "", "file with the GPUNodeGroup, - for standard input, in place of a cluster")
	f.StringSliceVar(&o.numa, "numa", nil, "memory of each NUMA node of a node, less its huge pages, in their order")
	if err := c.MarkFlagRequired("node-group"); err != nil {
		panic(err) // The flag is defined above.
	}
	return c
}

func (o options) print(c *cobra.Command, numa []int64) ([]byte, error) {
	g, err := o.read(c.Context(), c)
	if err != nil {
		return nil, err
	}
	return DropIn(g, numa)
}

func (o options) read(ctx context.Context, c *cobra.Command) (*v1alpha1.GPUNodeGroup, error) {
	g := &v1alpha1.GPUNodeGroup{}
	if o.file != "" {
		return g, source.GPUNodeGroup.FromFile(o.file, c.InOrStdin(), o.nodeGroup, g)
	}
	config, err := source.Config(o.kubeconfig, o.context)
	if err != nil {
		return nil, err
	}
	found, err := source.GPUNodeGroup.FromCluster(ctx, config, o.nodeGroup, g)
	if err == nil && !found {
		err = fmt.Errorf("there is no GPUNodeGroup %q in the cluster; kubectl get gng lists them", o.nodeGroup)
	}
	return g, err
}

func memories(texts []string) ([]int64, error) {
	var out []int64
	for i, text := range texts {
		q, err := resource.ParseQuantity(text)
		if err != nil || q.Sign() < 0 || q.CmpInt64(1<<53) > 0 {
			return nil, fmt.Errorf("--numa: found %q for NUMA node %d, expected its memory, such as 1056612Mi", text, i)
		}
		out = append(out, q.Value())
	}
	return out, nil
}
