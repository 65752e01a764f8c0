package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/addonoperator"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/recipe"
)

func (p *program) operatorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the real addon-operator, the engine of Deckhouse, on a module",
		Long: `Run the real addon-operator, the engine of Deckhouse, on a module of the name gpu-dra.

The module's folder is copied; its settings are the key gpuDra of the ConfigMap
addon-operator/addon-operator, which takes the place of a ModuleConfig. What Deckhouse
itself would bring (global hooks, global values, ModuleConfig) is not there: global values
are a short stand-in in addon-operator/modules/values.yaml of the cluster's folder.`,
	}
	cmd.AddCommand(p.operatorStartCommand(), p.operatorRestartCommand(), p.operatorSettingsCommand(),
		p.operatorAction("stop", "End addon-operator; what it installed stays", func(ctx context.Context, o *addonoperator.Operator) error {
			return o.Stop(ctx)
		}),
		p.operatorAction("kill", "End addon-operator and its hooks with SIGKILL", func(ctx context.Context, o *addonoperator.Operator) error {
			return o.Cluster.Kill(ctx, addonoperator.Name)
		}),
		p.operatorAction("wait", "Wait until the first converge is done", func(ctx context.Context, o *addonoperator.Operator) error {
			return o.Await(ctx, convergeLimit)
		}),
		p.operatorAction("values", "Print the module's values as JSON", func(ctx context.Context, o *addonoperator.Operator) error {
			return printed(o.Values(ctx))
		}),
		p.operatorAction("queue", "Print the main queue", func(ctx context.Context, o *addonoperator.Operator) error {
			return printed(o.Queue(ctx))
		}),
	)
	return cmd
}

const convergeLimit = 3 * time.Minute

func printed(raw []byte, err error) error {
	if err == nil {
		fmt.Println(string(raw))
	}
	return err
}

func (p *program) operator() (*addonoperator.Operator, error) {
	c, err := p.cluster()
	if err != nil {
		return nil, err
	}
	return &addonoperator.Operator{Cluster: c, Report: p.report}, nil
}

// builtOperator is the operator with its program, which is built if it is missing.
func (p *program) builtOperator(ctx context.Context) (*addonoperator.Operator, error) {
	o, err := p.operator()
	if err != nil {
		return nil, err
	}
	if _, err := o.Cluster.Record(); err != nil {
		return nil, err
	}
	find, err := p.binaries(ctx, recipe.DefaultKubernetes, []string{addonoperator.Name})
	if err != nil {
		return nil, err
	}
	o.Binary, err = find(addonoperator.Name, "")
	return o, err
}

func (p *program) operatorAction(use, short string, action func(context.Context, *addonoperator.Operator) error) *cobra.Command {
	return &cobra.Command{Use: use, Short: short, Args: cobra.NoArgs, RunE: func(cmd *cobra.Command, _ []string) error {
		o, err := p.operator()
		if err != nil {
			return err
		}
		return action(cmd.Context(), o)
	}}
}

func (p *program) operatorStartCommand() *cobra.Command {
	var options addonoperator.Options
	var wait bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "start --module DIR [-- FLAG...]",
		Short: "Copy a module, write its settings and start addon-operator on it",
		Long:  "Copy a module, write its settings and start addon-operator on it. Flags after -- go to `addon-operator start`.",
		RunE: func(cmd *cobra.Command, args []string) error {
			o, err := p.builtOperator(cmd.Context())
			if err != nil {
				return err
			}
			options.Extra = args
			if err := o.Start(cmd.Context(), options); err != nil || !wait {
				return err
			}
			return o.Await(cmd.Context(), limit)
		},
	}
	cmd.Flags().StringVar(&options.Module, "module", "", "folder of the module: chart, openapi, crds and hooks/ with the built hooks")
	cmd.Flags().StringVar(&options.Settings, "settings", "", "YAML file with the module's settings; left out, those in the cluster stay")
	cmd.Flags().StringVar(&options.LogLevel, "log-level", "info", "addon-operator's log level")
	enabledModulesFlag(cmd, &options.EnabledModules)
	waitFlags(cmd, &wait, &limit)
	if err := cmd.MarkFlagRequired("module"); err != nil {
		panic(err)
	}
	return cmd
}

func (p *program) operatorRestartCommand() *cobra.Command {
	var module string
	var enabled []string
	var wait bool
	var limit time.Duration
	cmd := &cobra.Command{
		Use:   "restart",
		Short: "End addon-operator and start it again; also starts one that was killed",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := p.builtOperator(cmd.Context())
			if err != nil {
				return err
			}
			if err := o.Restart(cmd.Context(), module, enabled); err != nil || !wait {
				return err
			}
			return o.Await(cmd.Context(), limit)
		},
	}
	cmd.Flags().StringVar(&module, "module", "", "copy the module anew from this folder")
	enabledModulesFlag(cmd, &enabled)
	waitFlags(cmd, &wait, &limit)
	return cmd
}

func (p *program) operatorSettingsCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "settings --file FILE",
		Short: "Replace the module's settings while addon-operator runs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o, err := p.operator()
			if err != nil {
				return err
			}
			return o.Settings(cmd.Context(), file)
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "YAML file with the settings")
	if err := cmd.MarkFlagRequired("file"); err != nil {
		panic(err)
	}
	return cmd
}

func enabledModulesFlag(cmd *cobra.Command, target *[]string) {
	cmd.Flags().StringSliceVar(target, "enabled-modules", addonoperator.DefaultEnabledModules(), "the stand-in for global.enabledModules")
}

func waitFlags(cmd *cobra.Command, wait *bool, limit *time.Duration) {
	cmd.Flags().BoolVar(wait, "wait", true, "wait until the first converge is done")
	cmd.Flags().DurationVar(limit, "timeout", convergeLimit, "how long to wait for it")
}
