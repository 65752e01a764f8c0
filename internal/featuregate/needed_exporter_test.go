package featuregate

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// The claim of an exporter needs admin access.
func TestNeedOfAnExportersClaim(t *testing.T) {
	for name, c := range map[string]struct {
		driver, mode, access string
		passthrough          bool
		seen                 bool
		by                   []string
	}{
		"always":        {"nvidia", "DaemonSet", "Always", false, true, []string{"exporter.adminAccess"}},
		"auto":          {"nvidia", "DaemonSet", "Auto", false, true, nil},
		"never":         {"nvidia", "DaemonSet", "Never", false, false, nil},
		"sidecar":       {"nvidia", "Sidecar", "Always", false, false, nil},
		"machines":      {"nvidia", "DaemonSet", "Always", true, false, nil},
		"without claim": {"amd", "DaemonSet", "Always", false, false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := &settings.Settings{
				NodeGroups: []settings.NodeGroup{{Name: "a", Drivers: []string{c.driver}, Passthrough: c.passthrough}},
				Exporter:   settings.Exporter{Mode: c.mode, AdminAccess: c.access},
			}
			set, _ := settings.Profiles(s)
			needed := Needed(s, set)
			i := slices.IndexFunc(needed, func(n Need) bool { return n.Gate == "DRAAdminAccess" })
			require.Equal(t, c.seen, i >= 0)
			if c.seen {
				require.ElementsMatch(t, c.by, needed[i].By)
			}
		})
	}
}
