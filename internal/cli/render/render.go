// Package render is the command `gpu-dra render`: the ResourceClaimTemplates that the controller would write, from files
// and without a cluster.
package render

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/internal/cli"
)

// New returns the command.
func New() *cobra.Command {
	var files, namespaces []string
	c := &cobra.Command{
		Use:   "render -f FILE [-n NAMESPACE]...",
		Short: "Print the ResourceClaimTemplates that GPUClaimTemplates become",
		Long: `Print the ResourceClaimTemplates that GPUClaimTemplates become, without a cluster.

FILE holds GPUClaimTemplates, or settings (Helm values, or a ModuleConfig); YAML or JSON, any number of documents; "-" is
standard input. Drivers that settings describe in customDrivers are known to all files.

Settings are checked as a whole, not only their claimTemplates: by the schema, by the driver profiles and the distribution,
and the CEL of deviceClasses.extra by the API server's compiler. What depends on the cluster is not refused, nor
what only the chart looks at, such as feature gates of drivers that exclude each other: "helm template" tells of it.

Nothing is printed when anything is wrong: the exit code is 1 and every error is listed.`,
		Example: `  gpu-dra render -f examples/claim-templates/gpu-16gb-min.yaml | kubectl apply -f -
  gpu-dra render -f values.yaml -n inference -n training`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var out bytes.Buffer
			if err := Render(files, c.InOrStdin(), namespaces, &out); err != nil {
				return &cli.Failure{Err: err}
			}
			if _, err := out.WriteTo(c.OutOrStdout()); err != nil {
				return &cli.Failure{Err: err}
			}
			return nil
		},
	}
	c.Flags().StringArrayVarP(&files, "filename", "f", nil, "file to read, - for standard input; may be given several times")
	c.Flags().StringArrayVarP(&namespaces, "namespace", "n", nil, "namespace to render for, in place of those that the templates name or select; may be given several times")
	if err := c.MarkFlagRequired("filename"); err != nil {
		panic(err) // The flag is defined above.
	}
	return c
}

// Render reads files, "-" being stdin, and writes the ResourceClaimTemplates of every GPUClaimTemplate in them as YAML
// documents: in the order read, each by namespace. Namespaces, where given, stand in for those of the templates. The error
// joins everything that is wrong with templates and settings, a line each, with file, document and field; nothing is written
// then.
func Render(files []string, stdin io.Reader, namespaces []string, out io.Writer) error {
	var in input
	in.checkNamespaces(namespaces)
	for _, file := range files {
		in.readFile(file, stdin)
	}
	profiles := in.profiles()
	var objects []any
	for _, t := range in.templates {
		objects = append(objects, in.build(t, profiles, namespaces)...)
	}
	for _, d := range in.settings {
		in.checkSettings(d, profiles)
	}
	if err := in.err(); err != nil {
		return err
	}
	return write(out, objects)
}
