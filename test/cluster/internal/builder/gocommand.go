package builder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/recipe"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/wrapper"
)

// prepareModule returns the folder to build in, with its go.mod.
func (b *Builder) prepareModule(ctx context.Context, r recipe.Recipe, log *buildLog) (string, error) {
	if r.Module.Content != "" {
		return r.Module.Dir, nil
	}
	text, err := wrapperText(ctx, r.Module, log)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.cache, "modules", r.Module.Name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	// Written anew each time: Go completes the file while it builds, and what it adds
	// depends on nothing else. go.sum stays: it is the record of what was verified.
	return dir, os.WriteFile(filepath.Join(dir, "go.mod"), []byte(text), 0o644)
}

func wrapperText(ctx context.Context, m recipe.Module, log *buildLog) (string, error) {
	switch {
	case m.Kubernetes != "":
		upstream, err := upstreamGoMod(ctx, log, "k8s.io/kubernetes@v"+m.Kubernetes)
		if err != nil {
			return "", err
		}
		return wrapper.Kubernetes(m.Name, upstream, m.Kubernetes, m.Requires...)
	case m.Beside != "":
		return wrapper.Beside(m.Name, m.Beside, m.Requires...)
	}
	return wrapper.Plain(m.Name, m.Requires...), nil
}

// upstreamGoMod reads the go.mod of a published module.
func upstreamGoMod(ctx context.Context, log *buildLog, module string) (string, error) {
	cmd := command(ctx, os.TempDir(), "mod", "download", "-json", module)
	cmd.Stderr = log
	out, err := cmd.Output()
	var answer struct{ GoMod, Error string }
	if jsonErr := json.Unmarshal(out, &answer); err != nil || jsonErr != nil || answer.Error != "" {
		return "", fmt.Errorf("`go mod download %s`: %w", module, errors.Join(err, jsonErr, errors.New(answer.Error)))
	}
	raw, err := os.ReadFile(answer.GoMod)
	if err != nil {
		return "", fmt.Errorf("go.mod of %s: %w", module, err)
	}
	return string(raw), nil
}

// run executes a go command and logs what it says.
func run(ctx context.Context, dir string, log *buildLog, args ...string) error {
	cmd := command(ctx, dir, args...)
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted: %w", ctx.Err())
		}
		if _, lookErr := exec.LookPath("git"); lookErr != nil {
			err = fmt.Errorf("%w (git is not installed: Go needs it for modules that its proxy does not serve)", err)
		}
		return fmt.Errorf("`go %s` in %s: %w", args[0], dir, err)
	}
	return nil
}

func command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	// The caller's flags and workspace would change the binary under the same key. Without
	// cgo no C compiler is needed, and the binary runs on any Linux.
	cmd.Env = append(os.Environ(), "GOFLAGS=", "GOWORK=off", "CGO_ENABLED=0", "GOOS=", "GOARCH=")
	// One group, so that an interrupt reaches the compilers as well.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// ldflags drops symbol tables, which halves the binaries, and sets variables in a stable
// order.
func ldflags(variables map[string]string) string {
	flags := []string{"-s", "-w"}
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		flags = append(flags, "-X", name+"="+variables[name])
	}
	return strings.Join(flags, " ")
}
