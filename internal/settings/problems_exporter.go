package settings

import (
	"fmt"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// exporterProblems are images of exporters that are too old for DRA.
func exporterProblems(s *Settings, profiles *profile.Set) []Problem {
	var out []Problem
	eachDriverConfig(s, func(path, driver string, config DriverConfig) {
		d, ok := profiles.ByName(driver)
		if !ok || d.Exporter == nil || config.Exporter == nil || config.Exporter.Image == nil {
			return
		}
		if tag := config.Exporter.Image.Tag; d.Exporter.TooOld(tag) {
			out = append(out, Problem{path + ".exporter.image.tag", fmt.Sprintf(
				"found %q, expected version %s or newer: an older exporter does not work with DRA", tag, d.Exporter.MinVersion)})
		}
	})
	return out
}
