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

func (r Requirement) line() string { return "require " + r.Module + " " + r.Version + "\n" }

// Plain is a wrapper that requires modules as anybody could: Go completes the rest.
func Plain(name string, requirements ...Requirement) string {
	var out strings.Builder
	fmt.Fprintf(&out, "module %s\n\ngo %s\n\n", path(name), goVersion)
	for _, r := range requirements {
		out.WriteString(r.line())
	}
	return out.String()
}

var (
	moduleLine = regexp.MustCompile(`(?m)^module .*$`)
	// Kubernetes develops its libraries in folders of its own repository; the module that
	// is published does not hold them, but each is published beside it.
	staging = regexp.MustCompile(`(?m)=> \./staging/src/(k8s\.io/[a-z0-9-]+)$`)
	folder  = regexp.MustCompile(`(?m)^.*=> \.{1,2}/.*$`)
)

// Kubernetes turns the go.mod of k8s.io/kubernetes at a version such as "1.34.4" into a
// wrapper of it: the same versions of everything, its libraries as they are published.
func Kubernetes(name, upstream, version string) (string, error) {
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
	return strings.TrimRight(text, "\n") + "\n\n" + Requirement{"k8s.io/kubernetes", "v" + version}.line(), nil
}

// path is a module path nobody can publish (RFC 2606).
func path(name string) string { return "gpu-dra.invalid/wrapper/" + name }
