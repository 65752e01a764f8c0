package settings

import (
	"errors"
	"fmt"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Profiles returns the built-in driver profiles with the user's own over them. A profile of the user's with a fault is left
// out and reported; if it was to replace a built-in one, that one stays.
func Profiles(s *Settings) (*profile.Set, []Problem) {
	builtin, err := profile.Builtin()
	if err != nil {
		return emptySet(), []Problem{{Message: err.Error()}}
	}
	return overBuiltin(builtin, s.CustomDrivers)
}

func overBuiltin(builtin, custom []profile.Driver) (*profile.Set, []Problem) {
	good := append([]profile.Driver{}, builtin...)
	set, err := profile.NewSet(good...)
	if err != nil {
		return emptySet(), []Problem{{Message: err.Error()}}
	}
	var problems []Problem
	for i, d := range custom {
		path := fmt.Sprintf("customDrivers[%d]", i)
		if err := d.Validate(); err != nil {
			problems = append(problems, faults(path, err)...)
			continue
		}
		// Two profiles of one DRA driver are found only together with the others.
		next, err := profile.NewSet(append(good[:len(good):len(good)], d)...)
		if err != nil {
			problems = append(problems, Problem{path + ".driverName", err.Error()})
			continue
		}
		good, set = append(good, d), next
	}
	return set, problems
}

func emptySet() *profile.Set {
	set, err := profile.NewSet()
	if err != nil {
		panic("profile: an empty set is not accepted: " + err.Error())
	}
	return set
}

// faults turns the error of profile.Driver.Validate, which joins "field: what is wrong" lines, into one problem a field.
func faults(path string, err error) []Problem {
	joined, ok := errors.Unwrap(err).(interface{ Unwrap() []error })
	if !ok {
		return []Problem{{path, err.Error()}}
	}
	var out []Problem
	for _, e := range joined.Unwrap() {
		field, message, found := strings.Cut(e.Error(), ": ")
		if !found {
			field, message = "", e.Error()
		}
		out = append(out, Problem{join(path, field), message})
	}
	return out
}
