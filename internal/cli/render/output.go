package render

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gpu-dra/gpu-dra/internal/claim"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// build returns the objects of one template by namespace; none when anything is wrong with it.
func (in *input) build(t template, profiles *profile.Set, namespaces []string) []any {
	if slices.Contains(in.brokenDrivers, t.Spec.Driver) {
		return nil
	}
	spec, err := claim.Build(t.Spec, profiles, claim.Capabilities{})
	in.failTemplate(t, err)
	// Without a cluster every namespace is one that does not exist yet.
	_, named, targetErr := claim.Targets(t.Spec, nil)
	in.failTemplate(t, targetErr)
	switch {
	case len(namespaces) > 0:
		named = slices.Compact(slices.Sorted(slices.Values(namespaces)))
	case targetErr == nil && t.Spec.NamespaceSelector != nil:
		in.fail(t.where, "%s: %q selects namespaces by label, which takes a cluster; name them with -n", t.field("spec.namespaceSelector"), t.Name)
	}
	if err != nil || targetErr != nil {
		return nil
	}
	var objects []any
	for _, n := range named {
		objects = append(objects, claim.Object(&t.GPUClaimTemplate, n, spec))
	}
	return objects
}

// failTemplate notes every single error that package claim has with a template, at its place in the file.
func (in *input) failTemplate(t template, err error) {
	var all claim.Errors
	if err != nil && !errors.As(err, &all) {
		in.fail(t.where, "%s: %w", t.specPath, err)
	}
	for _, e := range all {
		in.fail(t.where, "%s: %s", t.field(e.Field), e.Message)
	}
}

// write prints objects as YAML documents.
func write(out io.Writer, objects []any) error {
	var buffer bytes.Buffer
	for i, o := range objects {
		text, err := toYAML(o)
		if err != nil {
			return err
		}
		if i > 0 {
			fmt.Fprintln(&buffer, "---")
		}
		buffer.Write(text)
	}
	_, err := buffer.WriteTo(out)
	return err
}
