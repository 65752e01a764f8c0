package settings

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// exporterProblems are images of exporters that are too old for DRA, and metrics that sidecars do not have.
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
	return append(out, sidecarMetrics(s, profiles)...)
}

// sidecarMetrics are profiling metrics among those of the user's choice: sidecars have none, and would leave them out without a
// word.
func sidecarMetrics(s *Settings, profiles *profile.Set) []Problem {
	if s.Exporter.Mode != "Sidecar" || s.Exporter.Metrics != "Custom" {
		return nil
	}
	var out []Problem
	for i, metric := range s.Exporter.CustomMetrics {
		for _, d := range profiles.All() {
			if d.Exporter == nil || d.Exporter.Sidecar == nil ||
				!slices.ContainsFunc(d.Exporter.Metrics.ProfilingPrefixes, func(p string) bool { return strings.HasPrefix(metric, p) }) {
				continue
			}
			out = append(out, Problem{fmt.Sprintf("exporter.customMetrics[%d]", i), fmt.Sprintf("found %q, a profiling metric of the driver %s, "+
				"expected none with exporter.mode Sidecar: one process on a card can serve them; use the mode DaemonSet", metric, d.Name)})
			break
		}
	}
	return out
}
