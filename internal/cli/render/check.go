package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// document is one document of settings.
type document struct {
	where where
	// path of the settings in the document.
	path string
	// helm: they are the values of a chart.
	helm bool
	keys map[string]json.RawMessage
}

// checkSettings reports what the schema refuses in one document of settings, and what has no effect because it does not fit
// the driver profiles or the distribution. What was said already of an entry, from close by, is not said again.
func (in *input) checkSettings(d document, profiles *profile.Set) {
	keys := maps.Clone(d.keys)
	if d.helm {
		// Helm hands this one to every chart.
		delete(keys, "global")
	}
	s := in.parse(d, keys)
	if s == nil {
		return
	}
	distributions, err := profile.Distributions()
	if err != nil {
		in.fail(d.where, "%w", err)
		return
	}
	for _, p := range settings.Problems(s, profiles, distributions[distribution(s)]) {
		if !in.ofBrokenDriver(p) {
			in.failSetting(d, p)
		}
	}
}

// parse reads settings and reports what the schema refuses. It goes on without the keys that are wrong: what is wrong with the
// others need not wait. nil where nothing can be said without those keys.
func (in *input) parse(d document, keys map[string]json.RawMessage) *settings.Settings {
	for {
		data, err := json.Marshal(keys)
		if err != nil {
			in.fail(d.where, "%w", err)
			return nil
		}
		s, err := settings.Parse(data)
		if err == nil {
			return s
		}
		var invalid *settings.InvalidError
		if !errors.As(err, &invalid) {
			in.fail(d.where, "%w", err)
			return nil
		}
		for _, p := range invalid.Problems {
			in.failSetting(d, p)
		}
		if !withdraw(keys, invalid) {
			return nil
		}
	}
}

// withdraw removes the keys that are wrong; false when the others cannot be judged without.
func withdraw(keys map[string]json.RawMessage, invalid *settings.InvalidError) bool {
	before := len(keys)
	for _, p := range invalid.Problems {
		key := p.Path
		if end := strings.IndexAny(key, ".["); end >= 0 {
			key = key[:end]
		}
		if key == "distribution" {
			return false
		}
		delete(keys, key)
	}
	return len(keys) < before
}

// distribution is the one whose rules are applied. Where it depends on the cluster (Auto) it is the one that asks least of the
// settings: the same block may be for a cluster of Deckhouse, and elsewhere Helm itself asks for what is missing.
func distribution(s *settings.Settings) string {
	if s.Distribution == "" || s.Distribution == "Auto" {
		return "Deckhouse"
	}
	return s.Distribution
}

// failSetting notes a problem, unless the entry that it is about has one already.
func (in *input) failSetting(d document, p settings.Problem) {
	for _, list := range []string{"customDrivers", "claimTemplates"} {
		rest, ok := strings.CutPrefix(p.Path, list)
		if !ok {
			continue
		}
		entry := list
		if end := strings.Index(rest, "]"); strings.HasPrefix(rest, "[") && end > 0 {
			entry += rest[:end+1]
		}
		said := fmt.Sprintf("%s: %s", d.where.name, under(d.path, entry))
		if slices.ContainsFunc(in.errs, func(e problem) bool { return strings.HasPrefix(e.err.Error(), said) }) {
			return
		}
	}
	in.fail(d.where, "%s", strings.TrimPrefix(under(d.path, p.Path)+": "+p.Message, ": "))
}

// ofBrokenDriver says that a problem is only that a profile which is reported already is not there.
func (in *input) ofBrokenDriver(p settings.Problem) bool {
	return slices.ContainsFunc(in.brokenDrivers, func(name string) bool {
		return strings.HasPrefix(p.Message, fmt.Sprintf("found %q, expected one of: ", name))
	})
}
