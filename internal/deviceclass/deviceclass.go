// Package deviceclass says which DeviceClasses the settings want and which of those that exist are ours. It fetches and
// writes nothing.
package deviceclass

import (
	"cmp"
	"slices"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// name of the chart, of the Deckhouse module, and of the module's Helm release.
const name = "gpu-dra"

const (
	labelName = "app.kubernetes.io/name"
	// LabelModule is the label that Deckhouse puts on what a module's release creates.
	LabelModule = "module"
	// AnnotationRelease is the annotation by which Helm marks the objects of a release.
	AnnotationRelease = "meta.helm.sh/release-name"
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

// Ours says whether this installation created a class, by its labels and annotations: the label of the module, or Helm's
// annotation with the name of the module's release. A plain Helm release may have any name; where no hooks run, the chart's
// own label is enough. Under hooks it is not: the class may be that of a release that the module has not replaced yet.
func Ours(labels, annotations map[string]string, underHooks bool) bool {
	return labels[LabelModule] == name || annotations[AnnotationRelease] == name || !underHooks && labels[labelName] == name
}
