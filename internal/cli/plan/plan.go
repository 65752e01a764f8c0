// Package plan is the command `gpu-dra plan`: what the settings need of Kubernetes feature gates, what is wrong with them, and
// what gets in the way of an upgrade, from the GPUStack of a cluster or from a file that holds one.
package plan

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/cli"
	"github.com/gpu-dra/gpu-dra/internal/cli/source"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

type options struct {
	file, kubeconfig, context string
	distribution, upgradeTo   string
	output                    string
	kubelets                  bool
}

// New returns the command.
func New() *cobra.Command { return command(time.Now) }

func command(now func() time.Time) *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "plan [--file FILE] [--kubelets] [--upgrade-to 1.N]",
		Short: "Say which Kubernetes feature gates are needed where, and what an upgrade would break",
		Long: `Say which Kubernetes feature gates are needed where, and what an upgrade would break.

It reads the GPUStack main, from the cluster of the kubeconfig or from a file ("-" is standard input), and prints for each
needed gate and each component how it stands and what is to be done; gates that are set twice or differently; what of this
configuration stops a component after an upgrade; and pieces of configuration to copy.

The controller does not read the configuration of kubelets: what it takes, the right to get nodes/proxy, is as good as root on
every node. With --kubelets the command reads it with your rights, of up to 500 nodes of listed groups, and says what they have;
without the right it says so and goes on.

With --upgrade-to the exit code is 1 when something on the way to that version stops.`,
		Example: `  gpu-dra plan
  gpu-dra plan --kubelets --upgrade-to 1.36
  kubectl get gpustack main -o yaml | gpu-dra plan --file - -o yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.InOrStdin(), c.OutOrStdout(), now())
		},
	}
	f := c.Flags()
	f.StringVarP(&o.file, "file", "f", "", "file with a GPUStack, - for standard input; by default it is read from the cluster")
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default $KUBECONFIG or ~/.kube/config)")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig (default its current one)")
	f.StringVar(&o.distribution, "distribution", "", "whose rules of feature gates hold: Deckhouse, Rosa or Vanilla (default what the GPUStack says)")
	f.StringVar(&o.upgradeTo, "upgrade-to", "", "Kubernetes version to look ahead to, such as 1.36 (default as far as is known)")
	f.BoolVar(&o.kubelets, "kubelets", false, "ask the kubelets of listed node groups for their configuration")
	f.StringVarP(&o.output, "output", "o", "text", "text for people, yaml for machines")
	return c
}

func (o options) run(ctx context.Context, stdin io.Reader, out io.Writer, now time.Time) error {
	if o.output != "text" && o.output != "yaml" {
		return fmt.Errorf("--output: found %q, expected text or yaml", o.output)
	}
	if err := source.Alone(o.file, o.kubeconfig, o.context); err != nil {
		return err
	}
	if o.file != "" && o.kubelets {
		return errors.New("--file is read without a cluster: leave out --kubelets, or --file")
	}
	to, err := o.target()
	if err != nil {
		return err
	}
	s, config, err := o.read(ctx, stdin)
	if err != nil {
		return &cli.Failure{Err: err}
	}
	d, err := o.rules(s)
	if err != nil {
		return err
	}
	r := report{status: s.Status, distribution: d}
	if r.outOfDate, err = age(s.Status, now); err != nil {
		return &cli.Failure{Err: err}
	}
	if from := stack.ServerMinor(s.Status); o.upgradeTo != "" && from != 0 && to <= from {
		return fmt.Errorf("--upgrade-to: found %q, expected a version above 1.%d, which the API server runs", o.upgradeTo, from)
	}
	if o.kubelets {
		a := askKubelets(ctx, config)
		r.kubelets = &a
	}
	r.compute(to)
	if err := r.write(out, o.output); err != nil {
		return &cli.Failure{Err: err}
	}
	stops := slices.DeleteFunc(slices.Clone(r.gates.Upgrade), func(f v1alpha1.UpgradeFinding) bool { return !f.Stops })
	if o.upgradeTo != "" && len(stops) > 0 {
		return &cli.Failure{Err: fmt.Errorf("%d finding(s) stop something on the way to Kubernetes %s", len(stops), o.upgradeTo)}
	}
	return nil
}

// target is the minor to look ahead to.
func (o options) target() (int, error) {
	if o.upgradeTo == "" {
		return featuregate.Newest + 1, nil
	}
	minor, ok := featuregate.Minor(o.upgradeTo)
	if !ok {
		return 0, fmt.Errorf("--upgrade-to: found %q, expected a Kubernetes version such as 1.36", o.upgradeTo)
	}
	if minor > featuregate.Newest+1 {
		return 0, fmt.Errorf("--upgrade-to: found %q, expected at most 1.%d: gpu-dra knows the feature gates of Kubernetes up to 1.%d and what its sources announce for the next",
			o.upgradeTo, featuregate.Newest+1, featuregate.Newest)
	}
	return minor, nil
}

// rules are those of the distribution that is asked for, else of the one in the status, else of Kubernetes as it is.
func (o options) rules(s *v1alpha1.GPUStack) (profile.Distribution, error) {
	all, err := profile.Distributions()
	if err != nil {
		return profile.Distribution{}, &cli.Failure{Err: err}
	}
	if o.distribution == "" {
		return all[s.Status.FeatureGates.Distribution], nil
	}
	d, ok := all[o.distribution]
	if !ok {
		return d, fmt.Errorf("--distribution: found %q, expected Deckhouse, Rosa or Vanilla", o.distribution)
	}
	return d, nil
}
