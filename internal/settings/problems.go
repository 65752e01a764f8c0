package settings

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Problems reports what the schema cannot know because it depends on the driver profiles and the distribution. None of them
// stops anything: the part of the settings that is wrong has no effect, and the caller says so in a condition. Faults of
// customDrivers are reported by Profiles. A claim template that names an unknown driver is reported on its own object.
func Problems(s *Settings, profiles *profile.Set, d profile.Distribution) []Problem {
	out := groupProblems(s, profiles, d)
	// What replaces a built-in profile and is faulty is a problem of its own; nobody knows what it would take.
	refused := RefusedDrivers(s, profiles)
	for i, g := range s.NodeGroups {
		for _, name := range sortedKeys(g.DriverOverrides) {
			if p, ok := profiles.ByName(name); ok && !slices.Contains(refused, name) {
				out = append(out, driverProblems(fmt.Sprintf("nodeGroups[%d].driverOverrides.%s", i, name), g.DriverOverrides[name], p)...)
			}
		}
	}
	for _, name := range sortedKeys(s.Drivers) {
		if p, ok := profiles.ByName(name); !ok {
			out = append(out, Problem{"drivers." + name, unknownProfile(name, profiles)})
		} else if !slices.Contains(refused, name) {
			out = append(out, driverProblems("drivers."+name, s.Drivers[name], p)...)
		}
	}
	out = append(out, exporterProblems(s, profiles)...)
	out = append(out, resourceProblems(s)...)
	out = append(out, labelProblems("monitoring.labels", s.Monitoring.Labels)...)
	return append(out, classProblems(s, profiles)...)
}

// labelProblems are keys that no label can have: a schema knows patterns of values only.
func labelProblems(path string, labels map[string]string) []Problem {
	var out []Problem
	for _, key := range sortedKeys(labels) {
		if len(validation.IsQualifiedName(key)) > 0 {
			out = append(out, Problem{path + "." + key, "no label has such a key; " +
				"expected a name of at most 63 letters, digits, dashes, dots and underscores, with or without domain/ before it"})
		}
	}
	return out
}

func classProblems(s *Settings, profiles *profile.Set) []Problem {
	var out []Problem
	known, of := map[string]bool{}, map[string]string{}
	for _, p := range profiles.All() {
		for _, c := range p.Classes {
			// The chart creates the first of the two.
			if other, taken := of[c.Name]; taken && other != p.Name {
				out = append(out, Problem{"customDrivers", fmt.Sprintf("profiles %q and %q both have a class %q; rename one", other, p.Name, c.Name)})
			}
			known[c.Name], of[c.Name] = true, p.Name
		}
	}
	for i, c := range s.DeviceClasses.Extra {
		path := fmt.Sprintf("deviceClasses.extra[%d]", i)
		if known[c.Name] {
			out = append(out, Problem{path + ".name", fmt.Sprintf("found %q, which is a class of a driver profile; choose another name", c.Name)})
		}
		if _, ok := profiles.ByName(c.Driver); c.Driver != "" && !ok {
			out = append(out, Problem{path + ".driver", unknownProfile(c.Driver, profiles)})
		}
		out = append(out, selectorProblems(path, c)...)
	}
	for _, c := range s.DeviceClasses.Extra {
		known[c.Name] = true
	}
	for _, name := range sortedKeys(s.DeviceClasses.Classes) {
		if !known[name] {
			out = append(out, Problem{"deviceClasses.classes." + name, "no driver profile and no entry of deviceClasses.extra has a class of this name"})
		}
	}
	return out
}

func unknownProfile(name string, profiles *profile.Set) string {
	names := make([]string, 0)
	for _, p := range profiles.All() {
		names = append(names, p.Name)
	}
	return fmt.Sprintf("found %q, expected one of: %s, or a profile of your own in customDrivers", name, strings.Join(names, ", "))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
