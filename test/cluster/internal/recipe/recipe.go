// Package recipe says, as data, which programs a test cluster is made of and how each is
// built.
package recipe

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/wrapper"
)

// Recipe is all that decides what a binary is. Its fields are part of the cache key.
type Recipe struct {
	Component string
	// Version is as the program itself prints it, with "v".
	Version string
	Module  Module
	// Package is what `go build` is given.
	Package string
	// Tags are build tags.
	Tags []string `json:",omitempty"`
	// Variables are set by the linker: package path and variable name → value.
	Variables map[string]string
}

// Module is the Go module a program is built in. Recipes that share one are built one
// after the other and share what they compile.
type Module struct {
	// Name is the folder's name; empty for the committed module of addon-operator.
	Name string
	// Requires are the modules a wrapper asks for.
	Requires []wrapper.Requirement
	// Beside is the go.mod of this repository for programs that are built with its versions of what they share: what the unit tests
	// have compiled is not compiled again.
	Beside string `json:",omitempty"`
	// Kubernetes, such as "1.34.4", makes it a wrapper of k8s.io/kubernetes instead.
	Kubernetes string
	// Content is go.mod and go.sum of a committed module, which stands in Dir.
	Content string
	Dir     string `json:"-"`
}

// Key names the binary in the cache: the same key means the same binary.
func (r Recipe) Key(toolchain string) string {
	raw, err := json.Marshal(struct {
		Recipe
		Toolchain string
		Wrapper   int
	}{r, toolchain, wrapper.Revision})
	if err != nil {
		panic(fmt.Sprintf("recipe of %s does not marshal: %v", r.Component, err))
	}
	sum := sha256.Sum256(raw)
	return r.Component + "-" + r.Version + "-" + hex.EncodeToString(sum[:])[:12]
}
