// Package deviceclass says which DeviceClasses the settings want and which of those that exist are ours. It fetches and
// writes nothing.
package deviceclass

import (
	"cmp"
	"slices"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// name of the chart and of the Deckhouse module.
const name = "gpu-dra"

const (
	labelName = "app.kubernetes.io/name"
	// LabelModule is on everything that the module creates.
	LabelModule = "module"
)

// Wanted returns the names of the classes that the chart creates for the settings: those of the drivers that groups or claim
// templates need, and the user's own, but not those that the settings say are never created nor those of the user's own that the
// API server would refuse.
func Wanted(s *settings.Settings, profiles *profile.Set) map[string]bool {
	out := map[string]bool{}
	add := func(class string) {
		if cmp.Or(s.DeviceClasses.Classes[class].Create, s.DeviceClasses.Create) != "Never" {
			out[class] = true
		}
	}
	for _, driver := range settings.WantedDrivers(s) {
		if p, ok := profiles.ByName(driver); ok {
			for _, c := range p.Classes {
				add(c.Name)
			}
		}
	}
	refused := settings.RefusedDeviceClasses(s)
	for _, c := range s.DeviceClasses.Extra {
		if !slices.Contains(refused, c.Name) {
			add(c.Name)
		}
	}
	return out
}

// Ours says whether this installation created a class, by its labels. Where no hooks run, the chart's own label is enough. Under
// hooks it is not, nor is the name of the release in Helm's annotation: the class may be that of a plain release, whose uninstall
// would delete it under the module.
func Ours(labels map[string]string, underHooks bool) bool {
	return labels[LabelModule] == name || !underHooks && labels[labelName] == name
}
