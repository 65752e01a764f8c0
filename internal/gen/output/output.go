// Package output writes generated files, or checks that what stands in the tree is what would be written.
package output

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Files are contents by path, relative to the root of the repository.
type Files map[string][]byte

// Emit writes the files below root where they differ, or, with check, only names those that do.
func (f Files) Emit(root string, check bool) error {
	var stale []string
	for _, name := range f.names() {
		path := filepath.Join(root, filepath.FromSlash(name))
		present, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		if err == nil && bytes.Equal(present, f[name]) {
			continue
		}
		if check {
			stale = append(stale, name)
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, f[name], 0o644); err != nil {
			return err
		}
		fmt.Println("written", name)
	}
	if len(stale) > 0 {
		return fmt.Errorf("not as generated: %v; run `make generate`", stale)
	}
	return nil
}

func (f Files) names() []string {
	names := make([]string, 0, len(f))
	for n := range f {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}
