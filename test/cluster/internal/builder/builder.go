// Package builder builds programs by their recipes into a cache that clones share.
package builder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/filelock"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/progress"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/recipe"
)

// Builder knows the cache and the toolchain.
type Builder struct {
	cache     string
	toolchain string
	report    *progress.Reporter
}

// New asks the installed Go for its version. cache is the folder that holds everything
// built; it may be removed at any time when nothing runs.
func New(ctx context.Context, cache string, report *progress.Reporter) (*Builder, error) {
	if _, err := exec.LookPath("go"); err != nil {
		return nil, errors.New("the go command is not found in PATH: a test cluster is built from source, install Go 1.26 or newer")
	}
	out, err := exec.CommandContext(ctx, "go", "env", "GOVERSION").Output()
	if err != nil {
		return nil, fmt.Errorf("`go env GOVERSION` fails: %w", err)
	}
	if err := os.MkdirAll(filepath.Join(cache, "bin"), 0o755); err != nil {
		return nil, fmt.Errorf("the cache %s cannot be made: %w; GPU_DRA_CACHE_DIR names another place", cache, err)
	}
	toolchain := strings.TrimSpace(string(out)) + " " + runtime.GOOS + "/" + runtime.GOARCH
	return &Builder{cache: cache, toolchain: toolchain, report: report}, nil
}

// Path is where the binary is or will be.
func (b *Builder) Path(r recipe.Recipe) string {
	return filepath.Join(b.cache, "bin", r.Key(b.toolchain), r.Component)
}

// Built says whether the binary is there. Only whole binaries are ever there.
func (b *Builder) Built(r recipe.Recipe) bool {
	info, err := os.Stat(b.Path(r))
	return err == nil && info.Mode().IsRegular()
}

// Ensure builds those of the recipes that are missing, one at a time: the largest links
// take 2 GB each, and one build already uses every core.
func (b *Builder) Ensure(ctx context.Context, recipes []recipe.Recipe) error {
	var missing []recipe.Recipe
	for _, r := range recipes {
		if !b.Built(r) {
			missing = append(missing, r)
		}
	}
	if len(missing) > 0 {
		b.report.Say("Building %d of %d programs from source; interrupted, it goes on where it was.", len(missing), len(recipes))
	}
	for i, r := range missing {
		label := fmt.Sprintf("[%d/%d] %s %s", i+1, len(missing), r.Component, r.Version)
		if err := b.ensure(ctx, r, label); err != nil {
			return err
		}
	}
	return nil
}

func (b *Builder) ensure(ctx context.Context, r recipe.Recipe, label string) error {
	// One builder for each module: they share its go.mod and most of what they compile.
	var waiting *progress.Step
	lock, err := filelock.Acquire(ctx, filepath.Join(b.cache, "modules", cmp.Or(r.Module.Name, r.Component)+".lock"), func() {
		waiting = b.report.Start(label+": another process builds it or its kin", nil)
	})
	if waiting != nil {
		waiting.Done("waited")
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	if b.Built(r) {
		b.report.Say("%s: built meanwhile by another process", label)
		return nil
	}
	log, err := newBuildLog(filepath.Join(b.cache, "logs", r.Key(b.toolchain)+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	step := b.report.Start(label, log.Summary)
	if err := b.build(ctx, r, log); err != nil {
		step.Done("failed")
		return fmt.Errorf("%s %s was not built: %w\n%s\nthe whole output is in %s", r.Component, r.Version, err, log.Tail(), log.path)
	}
	step.Done("built")
	return nil
}

func (b *Builder) build(ctx context.Context, r recipe.Recipe, log *buildLog) error {
	dir, err := b.prepareModule(ctx, r, log)
	if err != nil {
		return err
	}
	target := b.Path(r)
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	// Renamed when whole: a file under the final name is always a finished binary.
	partial := target + ".partial"
	// Go does not overwrite a file that is no program, such as half of one.
	if err := os.RemoveAll(partial); err != nil {
		return err
	}
	// No -trimpath: it is another build of every package than the one the unit tests have in the cache.
	args := []string{"build", "-v", "-buildvcs=false", "-ldflags", ldflags(r.Variables), "-o", partial}
	if len(r.Tags) > 0 {
		args = append(args, "-tags", strings.Join(r.Tags, ","))
	}
	if r.Module.Content == "" {
		args = append(args, "-mod=mod")
	}
	if err := run(ctx, dir, log, append(args, r.Package)...); err != nil {
		return err
	}
	return os.Rename(partial, target)
}
