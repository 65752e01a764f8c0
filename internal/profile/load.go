package profile

import (
	"fmt"
	"io/fs"
	"path"
	"sort"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/profiles"
)

// Set is the drivers that are known: the built-in ones and the user's own.
type Set struct {
	byName   map[string]*Driver
	byDriver map[string]*Driver
}

// NewSet builds a set. A later profile of the same name replaces an earlier one (a user's own over a built-in). Two
// profiles of different names may not claim one DRA driver name: the error names both.
func NewSet(drivers ...Driver) (*Set, error) {
	s := &Set{byName: map[string]*Driver{}, byDriver: map[string]*Driver{}}
	for i := range drivers {
		s.byName[drivers[i].Name] = &drivers[i]
	}
	for _, d := range s.All() {
		for _, n := range d.DriverNames() {
			if other, taken := s.byDriver[n]; taken {
				return nil, fmt.Errorf("profiles %q and %q both describe the DRA driver %q: keep one", other.Name, d.Name, n)
			}
			s.byDriver[n] = d
		}
	}
	return s, nil
}

// ByName returns the profile that settings call name.
func (s *Set) ByName(name string) (*Driver, bool) {
	d, ok := s.byName[name]
	return d, ok
}

// ByDriver returns the profile that describes a DRA driver (ResourceSlice spec.driver).
func (s *Set) ByDriver(driver string) (*Driver, bool) {
	d, ok := s.byDriver[driver]
	return d, ok
}

// All returns the profiles sorted by name.
func (s *Set) All() []*Driver {
	out := make([]*Driver, 0, len(s.byName))
	for _, d := range s.byName {
		out = append(out, d)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// Builtin returns the driver profiles in profiles/drivers.
var Builtin = sync.OnceValues(func() ([]Driver, error) { return readAll[Driver]("drivers") })

// Distributions returns the distribution profiles in profiles/distributions by name.
var Distributions = sync.OnceValues(func() (map[string]Distribution, error) {
	list, err := readAll[Distribution]("distributions")
	if err != nil {
		return nil, err
	}
	out := make(map[string]Distribution, len(list))
	for _, d := range list {
		out[d.Name] = d
	}
	return out, nil
})

func readAll[T any](dir string) ([]T, error) {
	names, err := fs.Glob(profiles.Files, path.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	out := make([]T, len(names))
	for i, name := range names {
		data, err := profiles.Files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		if err := yaml.UnmarshalStrict(data, &out[i]); err != nil {
			return nil, fmt.Errorf("profiles/%s: %w", name, err)
		}
	}
	return out, nil
}
