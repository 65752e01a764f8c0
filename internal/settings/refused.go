package settings

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/selector"
)

// RefusedDrivers names the entries of customDrivers that are not in the profiles which Profiles made of the settings, sorted.
// The chart cannot judge a profile, and would put a faulty one in the place of the built-in one that stays here.
func RefusedDrivers(s *Settings, profiles *profile.Set) []string {
	var out []string
	for _, d := range s.CustomDrivers {
		if taken, ok := profiles.ByName(d.Name); !ok || !reflect.DeepEqual(*taken, d) {
			out = append(out, d.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// RefusedDeviceClasses names the entries of deviceClasses.extra that the API server would not take because a selector does not
// compile, sorted. One refused object stops the whole release, half of it applied.
func RefusedDeviceClasses(s *Settings) []string {
	var out []string
	for _, c := range s.DeviceClasses.Extra {
		if len(selectorProblems("", c)) > 0 {
			out = append(out, c.Name)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// selectorProblems are the selectors of one of the user's own classes that do not compile; path is the path of the class.
func selectorProblems(path string, c ExtraClass) []Problem {
	var out []Problem
	for i, expression := range c.Selectors {
		if err := selector.Check(expression); err != nil {
			out = append(out, Problem{fmt.Sprintf("%s.selectors[%d]", path, i), err.Error()})
		}
	}
	return out
}
