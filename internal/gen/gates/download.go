package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
		return "", failed(version, answer.Error, errors.Join(jsonErr, err))
	}
	return answer.Dir, nil
}

// refusals are what the go command says where a proxy does not have a version, or does not give it out.
var refusals = regexp.MustCompile(`: (404 Not Found|410 Gone|403 Forbidden)|: unknown revision `)

// failed is the error of a download: a refusedError only where the proxy's answer says that it does not give this version. Any other
// failure says nothing of the version, and what is compared must not shrink with it.
func failed(version, answer string, err error) error {
	if err == nil {
		err = errors.New("the go command names no folder")
	}
	if refusals.MatchString(answer) {
		return &refusedError{version: version, err: errors.New(answer)}
	}
	return fmt.Errorf("k8s.io/kubernetes@v%s could not be downloaded: %s: %w", version, strings.TrimSpace(answer), err)
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
