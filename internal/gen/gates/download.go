package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// versions of Kubernetes that the table is made from, one a minor, ascending. API servers of the oldest supported minor (1.34)
// accept kubelets that are three minors older.
var versions = []string{"1.31.14", "1.32.13", "1.33.13", "1.34.4", "1.35.4", "1.36.3", "1.37.2"}

const goMod = "module gpu-dra.invalid/gates\n\ngo 1.26.0\n"

// download brings the sources of a Kubernetes version into Go's module cache and returns their folder. A module of its own is
// the only place where Go asks nothing about versions of this repository's modules.
func download(version string) (string, error) {
	dir, err := os.MkdirTemp("", "gates")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(goMod), 0o644); err != nil {
		return "", err
	}
	cmd := exec.Command("go", "mod", "download", "-json", "k8s.io/kubernetes@v"+version)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	out, err := cmd.Output()
	var answer struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &answer); jsonErr != nil || err != nil || answer.Dir == "" {
		return "", &refusedError{version: version, err: errors.Join(errors.New(answer.Error), err)}
	}
	return answer.Dir, nil
}

// refusedError says that the Go proxy did not give a version of Kubernetes.
type refusedError struct {
	version string
	err     error
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("k8s.io/kubernetes@v%s was not served: %s", e.version, strings.TrimSpace(e.err.Error()))
}

// minorOf a version such as 1.34.4.
func minorOf(version string) (int, error) {
	parts := strings.Split(version, ".")
	if len(parts) < 2 || parts[0] != "1" {
		return 0, fmt.Errorf("found version %q, expected a form such as 1.34.4", version)
	}
	return strconv.Atoi(parts[1])
}
