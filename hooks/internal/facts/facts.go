// Package facts reads what several hooks start from: the settings in the values, and what follows from them.
package facts

import (
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/deckhouse/module-sdk/pkg"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// section of the values that is ours.
const section = "gpuDra"

// Settings are the settings in force and what they mean here.
type Settings struct {
	*settings.Settings
	// Hash as the controller reports it in the GPUStack.
	Hash string
	// Distribution profile that the settings choose.
	Distribution profile.Distribution
	// Profiles of drivers, the user's own included. Faulty ones are left out; the controller reports them.
	Profiles *profile.Set
}

// FromValues reads the settings of a run. An error means that the values do not meet our schema, which addon-operator has
// checked before: nothing a hook could go on with.
func FromValues(values pkg.PatchableValuesCollector) (Settings, error) {
	s, err := settings.FromValues([]byte(values.Get(section).Raw))
	if err != nil {
		return Settings{}, err
	}
	distributions, err := profile.Distributions()
	if err != nil {
		return Settings{}, err
	}
	name := s.Distribution
	if name == "" || name == "Auto" {
		// addon-operator runs these hooks, and the platform with addon-operator is Deckhouse.
		name = "Deckhouse"
	}
	d, ok := distributions[name]
	if !ok {
		return Settings{}, fmt.Errorf("distribution: there is no profile %q", name)
	}
	profiles, _ := settings.Profiles(s)
	return Settings{Settings: s, Hash: settings.Hash(s), Distribution: d, Profiles: profiles}, nil
}

// Known decodes what earlier runs left in the values at path. Nothing there, or something of another shape after an upgrade,
// is the zero value.
func Known[T any](values pkg.PatchableValuesCollector, path string) T {
	var known, none T
	raw := values.Get(path).Raw
	if raw == "" || json.Unmarshal([]byte(raw), &known) != nil {
		return none
	}
	return known
}

// Set writes the block at path, unless the values say the same already: addon-operator restarts the module for a patch that
// changes something, and a hook should not leave it to compare. The caller passes no nil list at the top, for that would
// be null.
func Set(values pkg.PatchableValuesCollector, path string, block any) error {
	data, err := json.Marshal(block)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	var want, have any
	if err := json.Unmarshal(data, &want); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if raw := values.Get(path).Raw; raw != "" && json.Unmarshal([]byte(raw), &have) == nil && reflect.DeepEqual(want, have) {
		return nil
	}
	values.Set(path, block)
	return nil
}
