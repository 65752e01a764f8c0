package main

import (
	"path"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/images"
)

func (p *program) imageCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "image", Short: "Images of the real node, which no registry serves"}
	cmd.AddCommand(p.imageLoadCommand())
	return cmd
}

func (p *program) imageLoadCommand() *cobra.Command {
	var image images.Image
	cmd := &cobra.Command{
		Use:   "load NAME --binary PATH",
		Short: "Pack a static program into an image and give it to the real node",
		Example: `  cluster image load ghcr.io/gpu-dra/gpu-dra:v0.1.0 --binary _out/gpu-dra --path /gpu-dra --user 64535:64535
  cluster image load registry.example.com/team/app:1 --binary ./app`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			c, err := p.cluster()
			if err != nil {
				return err
			}
			image.Name = args[0]
			if image.Path == "" {
				image.Path = path.Join("/usr/local/bin", filepath.Base(image.Binary))
			}
			step := p.report.Start("image "+image.Name, nil)
			if err := c.LoadImage(cmd.Context(), image); err != nil {
				step.Done("failed")
				return err
			}
			step.Done("loaded")
			return nil
		},
	}
	cmd.Flags().StringVar(&image.Binary, "binary", "", "the static program; it is what the image runs")
	cmd.Flags().StringVar(&image.Path, "path", "", "where it is in the image (default: in /usr/local/bin under its own name)")
	cmd.Flags().StringVar(&image.User, "user", "", "USER[:GROUP] it runs as unless the Pod says so; root if left out")
	cmd.Flags().StringArrayVar(&image.Args, "arg", nil, "argument unless the Pod gives its own; may be repeated")
	if err := cmd.MarkFlagRequired("binary"); err != nil {
		panic(err)
	}
	return cmd
}
