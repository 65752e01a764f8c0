package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/controlplane"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/gates"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/recipe"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/state"
)

// upFlags are the options of `up` as they are typed.
type upFlags struct {
	kubernetes       string
	components       []string
	gates            []string
	runtimeConfig    string
	extra            []string
	admissionPlugins []string
	deckhouse        bool
	controlPlanePods bool
	realNodes        int
}

func (p *program) upCommand() *cobra.Command {
	var flags upFlags
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Build what is missing, start the cluster and print how to use it",
		Long: `Build what is missing, start the cluster and print how to use it.

A cluster that is up already is left as it is; a component of it that died is started
again; one whose start was interrupted is cleaned away and started anew.`,
		Example: `  cluster up --feature-gates kube-apiserver=DRAPartitionableDevices=true,DRADeviceTaints=true \
             --feature-gates kube-scheduler=DRAPartitionableDevices=true
  cluster up --extra-arg kube-scheduler=--feature-gates=DRADeviceTaints=true,DRADeviceTaints=false
  cluster up --name api --components etcd,kube-apiserver`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			options, err := flags.options()
			if err != nil {
				return err
			}
			c, err := p.cluster()
			if err != nil {
				return err
			}
			asked := false
			for _, name := range []string{"kubernetes-version", "components", "feature-gates", "runtime-config",
				"extra-arg", "admission-plugins", "deckhouse-gates", "control-plane-pods", "real-nodes"} {
				asked = asked || cmd.Flags().Changed(name)
			}
			if options, err = c.Fits(options, asked); err != nil {
				return err
			}
			names := slices.Clone(options.Components)
			if options.RealNodes > 0 {
				// Before anything is built: the machine may not be able to.
				if err := p.prepareNode(cmd.Context(), c); err != nil {
					return err
				}
				names = append(names, controlplane.NodePrograms...)
			}
			if c.Binaries, err = p.binaries(cmd.Context(), options.Kubernetes, names); err != nil {
				return err
			}
			if err := c.Up(cmd.Context(), options); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "export KUBECONFIG=%s\n", c.Kubeconfig())
			return nil
		},
	}
	kubernetesFlag(cmd, &flags.kubernetes)
	cmd.Flags().StringSliceVar(&flags.components, "components", component.Names(), "what to run; etcd,kube-apiserver is enough for API tests")
	cmd.Flags().BoolVar(&flags.controlPlanePods, "control-plane-pods", true,
		"publish stand-in mirror Pods of the control plane, as clusters with a control plane of their own show it (needs kwok)")
	cmd.Flags().IntVar(&flags.realNodes, "real-nodes", 0,
		"1 for a node with a real kubelet, containerd and runc beside the fake ones (needs root; see `cluster node --help`)")
	cmd.Flags().StringSliceVar(&flags.admissionPlugins, "admission-plugins", nil, "admission plugins enabled besides the defaults and NodeRestriction")
	gateFlags(cmd, &flags)
	return cmd
}

// gateFlags are those that `restart` takes too.
func gateFlags(cmd *cobra.Command, flags *upFlags) {
	cmd.Flags().StringArrayVar(&flags.gates, "feature-gates", nil, "COMPONENT=Gate=true,Gate=false; may be repeated")
	cmd.Flags().StringVar(&flags.runtimeConfig, "runtime-config", "", "kube-apiserver's --runtime-config")
	cmd.Flags().StringArrayVar(&flags.extra, "extra-arg", nil,
		"COMPONENT=--FLAG[=VALUE], put behind all other arguments as it is; may be repeated. Those of a cluster are replaced by those given; COMPONENT= takes them away")
	cmd.Flags().BoolVar(&flags.deckhouse, "deckhouse-gates", false,
		"what Deckhouse hard-codes from 1.34 on: four DRA gates in all three components and the ExtendedResourceToleration plugin; --feature-gates go on top")
}

func (f *upFlags) options() (state.Options, error) {
	version, err := recipe.ParseKubernetes(f.kubernetes)
	if err != nil {
		return state.Options{}, err
	}
	kinds, err := component.Select(f.components)
	if err != nil {
		return state.Options{}, err
	}
	var names []string
	for _, kind := range kinds {
		names = append(names, kind.Name)
	}
	options := state.Options{Kubernetes: version, Components: names, ControlPlanePods: f.controlPlanePods,
		AdmissionPlugins: f.admissionPlugins, RealNodes: f.realNodes}
	if f.realNodes < 0 || f.realNodes > 1 {
		return options, fmt.Errorf("--real-nodes %d: expected 0 or 1; Pods of two nodes would need routes between them, take fake nodes beside the real one", f.realNodes)
	}
	for _, need := range []string{component.ControllerManager, component.Scheduler} {
		if f.realNodes > 0 && !slices.Contains(names, need) {
			return options, fmt.Errorf("--real-nodes %d needs %s among --components", f.realNodes, need)
		}
	}
	return options, f.applyGates(&options)
}

// applyGates sets what the gate flags say; flags that were not given change nothing.
func (f *upFlags) applyGates(options *state.Options) error {
	set, err := gates.Parse(f.gates)
	if err != nil {
		return err
	}
	if len(set[gates.Kubelet]) > 0 && options.RealNodes == 0 {
		return fmt.Errorf("--feature-gates %s=…: found a cluster without a real node, whose fake nodes have no kubelet; start it with --real-nodes 1, or leave these gates out",
			gates.Kubelet)
	}
	base := options.Gates
	if f.deckhouse {
		base = gates.Deckhouse().Over(base)
		const plugin = "ExtendedResourceToleration"
		if !slices.Contains(options.AdmissionPlugins, plugin) {
			options.AdmissionPlugins = append(options.AdmissionPlugins, plugin)
		}
	}
	if merged := set.Over(base); len(merged) > 0 {
		options.Gates = merged
	}
	if f.runtimeConfig != "" {
		options.RuntimeConfig = f.runtimeConfig
	}
	extra, err := component.ParseExtra(f.extra)
	if err != nil {
		return err
	}
	options.ExtraArgs = component.MergeExtra(options.ExtraArgs, extra)
	return nil
}
