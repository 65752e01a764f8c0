package featuregate

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/settings"
)

// What an exporter needs, where one runs: admin access for its claim, and the kubelet's word on whose the devices are.
func TestNeedOfAnExporter(t *testing.T) {
	const told = "KubeletPodResourcesDynamicResources"
	for name, c := range map[string]struct {
		driver, mode, access string
		passthrough          bool
		seen                 bool
		by                   []string
		told                 bool
	}{
		"always":         {"nvidia", "DaemonSet", "Always", false, true, []string{"exporter.adminAccess"}, true},
		"auto":           {"nvidia", "DaemonSet", "Auto", false, true, nil, true},
		"never":          {"nvidia", "DaemonSet", "Never", false, false, nil, true},
		"sidecar":        {"nvidia", "Sidecar", "Always", false, false, nil, false},
		"machines":       {"nvidia", "DaemonSet", "Always", true, false, nil, false},
		"without claim":  {"amd", "DaemonSet", "Always", false, false, nil, true},
		"asks nobody":    {"intel-gpu", "DaemonSet", "Never", false, false, nil, false},
		"has none":       {"rebellions", "DaemonSet", "Always", false, false, nil, false},
		"has none other": {"example", "DaemonSet", "Always", false, false, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := &settings.Settings{
				NodeGroups: []settings.NodeGroup{{Name: "a", Drivers: []string{c.driver}, Passthrough: c.passthrough}},
				Exporter:   settings.Exporter{Mode: c.mode, AdminAccess: c.access},
			}
			set, _ := settings.Profiles(s)
			_, known := set.ByName(c.driver)
			require.True(t, known)
			needed := Needed(s, set)
			i := slices.IndexFunc(needed, func(n Need) bool { return n.Gate == "DRAAdminAccess" })
			require.Equal(t, c.seen, i >= 0)
			if c.seen {
				require.ElementsMatch(t, c.by, needed[i].By)
			}
			i = slices.IndexFunc(needed, func(n Need) bool { return n.Gate == told })
			require.Equal(t, c.told, i >= 0)
			if c.told {
				require.Equal(t, []string{"exporter.mode"}, needed[i].By)
			}
		})
	}
}
