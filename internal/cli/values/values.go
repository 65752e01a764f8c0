// Package values is the command `gpu-dra values`: what a live cluster is, as the setting `cluster`, for renders of the chart that see no
// cluster.
package values

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/cli"
	"github.com/gpu-dra/gpu-dra/internal/cli/source"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

type options struct {
	kubeconfig, context, distribution string
}

// New returns the command.
func New() *cobra.Command {
	var o options
	c := &cobra.Command{
		Use:   "values [--kubeconfig FILE]",
		Short: "Print the setting `cluster` for renders of the chart that see no cluster",
		Long: `Print the setting "cluster" for renders of the chart that see no cluster: helm template and GitOps tools.

It is read from the cluster of the kubeconfig with your rights, whether gpu-dra is installed there or not: the version from the API
server, feature gates from the command lines of the control plane's pods and the versions of all kubelets. A gate that can't be told
is left out, and a comment says why: the chart then goes without what needs it. What kubelets have in their own configuration,
"gpu-dra plan --kubelets" can read once gpu-dra is installed.`,
		Example: `  gpu-dra values > cluster.yaml
  helm template gpu-dra gpu-dra-<version>.tgz --values values.yaml --values cluster.yaml`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return o.run(c.Context(), c.OutOrStdout())
		},
	}
	f := c.Flags()
	f.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig file (default $KUBECONFIG or ~/.kube/config)")
	f.StringVar(&o.context, "context", "", "context of the kubeconfig (default its current one)")
	f.StringVar(&o.distribution, "distribution", "Vanilla", "whose control plane it is: Deckhouse, Rosa or Vanilla")
	return c
}

func (o options) run(ctx context.Context, out io.Writer) error {
	rules, err := o.rules()
	if err != nil {
		return err
	}
	config, err := source.Config(o.kubeconfig, o.context)
	if err != nil {
		return &cli.Failure{Err: err}
	}
	f, err := read(ctx, config, rules)
	if err != nil {
		return &cli.Failure{Err: err}
	}
	text, err := f.block()
	if err == nil {
		_, err = io.WriteString(out, text)
	}
	if err != nil {
		return &cli.Failure{Err: err}
	}
	return nil
}

func (o options) rules() (profile.Distribution, error) {
	all, err := profile.Distributions()
	if err != nil {
		return profile.Distribution{}, &cli.Failure{Err: err}
	}
	d, ok := all[o.distribution]
	if !ok {
		return d, fmt.Errorf("--distribution: found %q, expected Deckhouse, Rosa or Vanilla", o.distribution)
	}
	return d, nil
}

// block is the setting as YAML, with comments for what is not known.
func (f facts) block() (string, error) {
	gates := map[string]bool{}
	var doubts string
	for _, gate := range featuregate.Rendered {
		switch state, message := featuregate.State(gate, f.instances, f.kubelets); state {
		case metav1.ConditionTrue:
			gates[gate] = true
		case metav1.ConditionFalse:
			gates[gate] = false
		default:
			doubts += comment(gate + ": " + message)
		}
	}
	if doubts != "" {
		doubts = comment("Not known:") + doubts
	}
	for _, t := range f.troubles {
		doubts += comment(t)
	}
	data, err := yaml.Marshal(map[string]settings.Cluster{"cluster": {KubernetesVersion: f.version, FeatureGates: gates}})
	return string(data) + doubts, err
}

// comment keeps what it is given on one line: what a server says may hold more, which would be read as settings.
func comment(text string) string {
	line := make([]rune, 0, len(text))
	for _, r := range text {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			r = ' '
		}
		line = append(line, r)
	}
	return "# " + string(line) + "\n"
}
