// Package wrapper generates the small Go modules that programs of other projects are
// built through. `go install module@version` does not serve: it refuses modules with
// replace directives, such as Kubernetes's own.
package wrapper

import (
	"fmt"
	"regexp"
	"strings"
)

// Revision is part of every cache key: raise it when the generated text changes in a way
// that changes a binary.
const Revision = 1

// goVersion is the language version of a wrapper that has no upstream go.mod to follow.
const goVersion = "1.26.0"

// Requirement is a module and its version.
type Requirement struct {
	Module  string
	Version string
}

// Plain is a wrapper that requires modules as anybody could: Go completes the rest.
func Plain(name string, requirements ...Requirement) string {
	return appendTo(fmt.Sprintf("module %s\n\ngo %s", path(name), goVersion), requirements)
}

func appendTo(gomod string, requirements []Requirement) string {
	var out strings.Builder
	out.WriteString(strings.TrimRight(gomod, "\n") + "\n\n")
	for _, r := range requirements {
		fmt.Fprintf(&out, "require %s %s\n", r.Module, r.Version)
	}
	return out.String()
}

// Beside is a wrapper with the versions of another go.mod: packages that both use are compiled once, as far as what is required lets
// the versions stand.
func Beside(name, gomod string, requirements ...Requirement) (string, error) {
	if !moduleLine.MatchString(gomod) {
		return "", fmt.Errorf("wrapper %s: no module line in the go.mod it follows", name)
	}
	if left := folder.FindString(gomod); left != "" {
		return "", fmt.Errorf("wrapper %s: %q replaces a module by a folder, which is not there from where the wrapper stands", name, left)
	}
	return appendTo(moduleLine.ReplaceAllLiteralString(gomod, "module "+path(name)), requirements), nil
}

var (
	moduleLine = regexp.MustCompile(`(?m)^module .*$`)
	// Kubernetes develops its libraries in folders of its own repository; the module that
	// is published does not hold them, but each is published beside it.
	staging = regexp.MustCompile(`(?m)=> \./staging/src/(k8s\.io/[a-z0-9-]+)$`)
	folder  = regexp.MustCompile(`(?m)^.*=> \.{1,2}/.*$`)
)

// Kubernetes turns the go.mod of k8s.io/kubernetes at a version such as "1.34.4" into a
// wrapper of it and of what is required besides: the same versions of everything, its libraries as they are published.
func Kubernetes(name, upstream, version string, requirements ...Requirement) (string, error) {
	if !moduleLine.MatchString(upstream) {
		return "", fmt.Errorf("go.mod of k8s.io/kubernetes v%s: no module line found", version)
	}
	_, minorPatch, ok := strings.Cut(version, ".")
	if !ok {
		return "", fmt.Errorf("kubernetes version %q: expected a form such as 1.34.4", version)
	}
	text := moduleLine.ReplaceAllLiteralString(upstream, "module "+path(name))
	text = staging.ReplaceAllString(text, "=> $1 v0."+minorPatch)
	if left := folder.FindString(text); left != "" {
		return "", fmt.Errorf("go.mod of k8s.io/kubernetes v%s: %q replaces a module by a folder in a way that is not known: "+
			"teach test/cluster/internal/wrapper about it", version, strings.TrimSpace(left))
	}
	return appendTo(text, append([]Requirement{{"k8s.io/kubernetes", "v" + version}}, requirements...)), nil
}

// path is a module path nobody can publish (RFC 2606).
func path(name string) string { return "gpu-dra.invalid/wrapper/" + name }
