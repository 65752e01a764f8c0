package builder

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/progress"
	"github.com/gpu-dra/gpu-dra/test/cluster/internal/recipe"
)

const goMod = "module example.invalid/tiny\n\ngo 1.26\n"

// tiny is a program without dependencies: it builds in a second.
func tiny(t *testing.T, source string) recipe.Recipe {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": goMod, "main.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return recipe.Recipe{Component: "tiny", Version: "v1", Package: ".", Module: recipe.Module{Content: goMod + source, Dir: dir},
		Variables: map[string]string{"main.version": "v1", "main.other": "x"}}
}

func newBuilder(t *testing.T) *Builder {
	t.Helper()
	b, err := New(t.Context(), filepath.Join(t.TempDir(), "cache"), progress.New(os.Stderr))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBuildsOnceAndWhole(t *testing.T) {
	b := newBuilder(t)
	r := tiny(t, "package main\n\nvar version string\n\nfunc main() { print(version) }\n")
	// What an interrupted build leaves is not taken for the program.
	if err := os.MkdirAll(filepath.Dir(b.Path(r)), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(b.Path(r)+".partial", []byte("half"), 0o755); err != nil {
		t.Fatal(err)
	}
	if b.Built(r) {
		t.Fatal("half a binary counts as built")
	}
	// The caller's own settings must not reach the binary.
	t.Setenv("GOFLAGS", "-mod=vendor")
	if err := b.Ensure(t.Context(), []recipe.Recipe{r}); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(b.Path(r)).CombinedOutput()
	if err != nil || string(out) != "v1" {
		t.Errorf("the program says %q, %v", out, err)
	}
	entries, err := os.ReadDir(filepath.Dir(b.Path(r)))
	if err != nil || len(entries) != 1 {
		t.Errorf("beside the program: %v, %v", entries, err)
	}
	first, err := os.Stat(b.Path(r))
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Ensure(t.Context(), []recipe.Recipe{r}); err != nil {
		t.Fatal(err)
	}
	if second, err := os.Stat(b.Path(r)); err != nil || !os.SameFile(first, second) {
		t.Errorf("it was built again: %v", err)
	}
}

func TestFailureNamesProgramReasonAndLog(t *testing.T) {
	b := newBuilder(t)
	err := b.Ensure(t.Context(), []recipe.Recipe{tiny(t, "package main\n\nfunc main() { undefinedName() }\n")})
	if err == nil {
		t.Fatal("a program that does not compile was built")
	}
	for _, want := range []string{"tiny v1", "undefinedName", filepath.Join("logs", "tiny-v1-")} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not say %q", err, want)
		}
	}
}

func TestInterruptedBuildSaysSo(t *testing.T) {
	b := newBuilder(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.Ensure(ctx, []recipe.Recipe{tiny(t, "package main\n\nfunc main() {}\n")}); err == nil || !strings.Contains(err.Error(), "interrupted") {
		t.Errorf("error %v, want one that says interrupted", err)
	}
}

func TestTwoBuildersBuildOnce(t *testing.T) {
	b := newBuilder(t)
	r := tiny(t, "package main\n\nfunc main() {}\n")
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- b.Ensure(t.Context(), []recipe.Recipe{r}) }()
	}
	for range 2 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if !b.Built(r) {
		t.Error("nothing was built")
	}
}

func TestMissingGoIsSaid(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := New(t.Context(), t.TempDir(), progress.New(os.Stderr)); err == nil || !strings.Contains(err.Error(), "install Go") {
		t.Errorf("error %v, want one that says to install Go", err)
	}
}
