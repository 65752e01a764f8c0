package main

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/builder"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/controlplane"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/layout"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/recipe"
)

func (p *program) buildCommand() *cobra.Command {
	var kubernetes string
	cmd := &cobra.Command{
		Use:   "build [PROGRAM...]",
		Short: "Build programs into the cache (all of them by default)",
		Long: "Build programs into the cache. A program that is there already costs nothing.\n\nPrograms: " +
			strings.Join(recipe.Names, ", "),
		ValidArgs: recipe.Names,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				args = recipe.Names
			}
			binaries, err := p.build(cmd.Context(), kubernetes, args)
			for _, name := range recipe.Names {
				if path, ok := binaries[name]; ok {
					fmt.Fprintln(cmd.OutOrStdout(), path)
				}
			}
			return err
		},
	}
	kubernetesFlag(cmd, &kubernetes)
	return cmd
}

func (p *program) binCommand() *cobra.Command {
	var kubernetes string
	cmd := &cobra.Command{
		Use:       "bin PROGRAM",
		Short:     "Print the path of a built program, after building it if it is missing",
		Example:   `  export PATH="$(dirname "$(cluster bin kubectl)"):$PATH"`,
		Args:      cobra.ExactArgs(1),
		ValidArgs: recipe.Names,
		RunE: func(cmd *cobra.Command, args []string) error {
			binaries, err := p.build(cmd.Context(), kubernetes, args)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), binaries[args[0]])
			return nil
		},
	}
	kubernetesFlag(cmd, &kubernetes)
	return cmd
}

func kubernetesFlag(cmd *cobra.Command, target *string) {
	cmd.Flags().StringVar(target, "kubernetes-version", recipe.DefaultKubernetes, "version of Kubernetes, from 1.34 on")
}

// build makes sure that the named programs are there and returns their paths.
func (p *program) build(ctx context.Context, kubernetes string, names []string) (map[string]string, error) {
	recipes, err := p.recipes(kubernetes, names)
	if err != nil {
		return nil, err
	}
	cache, err := layout.Cache()
	if err != nil {
		return nil, err
	}
	b, err := builder.New(ctx, cache, p.report)
	if err != nil {
		return nil, err
	}
	if err := b.Ensure(ctx, recipes); err != nil {
		return nil, err
	}
	paths := map[string]string{}
	for _, r := range recipes {
		paths[r.Component] = b.Path(r)
	}
	return paths, nil
}

// recipes are sorted by what wastes least when several are built.
func (p *program) recipes(kubernetes string, names []string) ([]recipe.Recipe, error) {
	version, err := recipe.ParseKubernetes(kubernetes)
	if err != nil {
		return nil, err
	}
	var recipes []recipe.Recipe
	for _, name := range names {
		dir := ""
		if folder, ok := recipe.Committed[name]; ok {
			if dir, err = p.findCommitted(name, folder); err != nil {
				return nil, err
			}
		}
		r, err := recipe.For(name, version, dir)
		if err != nil {
			return nil, err
		}
		recipes = append(recipes, r)
	}
	slices.SortStableFunc(recipes, func(a, b recipe.Recipe) int {
		return slices.Index(recipe.Names, a.Component) - slices.Index(recipe.Names, b.Component)
	})
	return recipes, nil
}

// findCommitted looks upwards from the working directory and then where this program was
// compiled: a go.mod cannot be embedded.
func (p *program) findCommitted(name, folder string) (string, error) {
	if name == "addon-operator" && p.operatorDir != "" {
		return filepath.Abs(p.operatorDir)
	}
	var starts []string
	if dir, err := os.Getwd(); err == nil {
		starts = append(starts, dir)
	}
	if _, file, _, ok := runtime.Caller(0); ok {
		starts = append(starts, filepath.Dir(file))
	}
	module := "module " + path.Join("github.com/gpu-dra/gpu-dra", folder)
	for _, dir := range starts {
		for {
			candidate := filepath.Join(dir, filepath.FromSlash(folder))
			if raw, err := os.ReadFile(filepath.Join(candidate, "go.mod")); err == nil && slices.Contains(strings.Split(string(raw), "\n"), module) {
				return candidate, nil
			}
			parent := filepath.Dir(dir)
			if parent == dir {
				break
			}
			dir = parent
		}
	}
	return "", fmt.Errorf("%s: %s/go.mod was found neither above %s nor beside the source: run this in the repository%s", name, folder,
		strings.Join(starts, " nor above "), map[bool]string{true: " or give --operator-source"}[name == "addon-operator"])
}

// binaries lets a cluster find its programs, and builds them all before it starts.
func (p *program) binaries(ctx context.Context, kubernetes string, names []string) (func(string, string) (controlplane.Binary, error), error) {
	paths, err := p.build(ctx, kubernetes, names)
	if err != nil {
		return nil, err
	}
	recipes, err := p.recipes(kubernetes, names)
	if err != nil {
		return nil, err
	}
	known := map[string]controlplane.Binary{}
	for _, r := range recipes {
		known[r.Component] = controlplane.Binary{Path: paths[r.Component], Version: r.Version}
	}
	return func(name, _ string) (controlplane.Binary, error) {
		binary, ok := known[name]
		if !ok {
			return controlplane.Binary{}, fmt.Errorf("program %s was not built for this command", name)
		}
		return binary, nil
	}, nil
}
