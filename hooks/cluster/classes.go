package cluster

import (
	"cmp"
	"fmt"

	"github.com/deckhouse/module-sdk/pkg"

	"github.com/gpu-dra/gpu-dra/hooks/internal/facts"
)

// module is the name of the module, and with it of its Helm release.
const module = "gpu-dra"

// classFact is what classFilter leaves of a DeviceClass.
type classFact struct {
	Name string `json:"name"`
	// Module is the label that Deckhouse puts on what a module's release creates.
	Module string `json:"module"`
	// Release is the annotation that Helm puts on it.
	Release string `json:"release"`
}

func (f classFact) ours() bool { return f.Module == module || f.Release == module }

// wanted are the names of the DeviceClasses that the settings would create.
func wanted(s facts.Settings) map[string]bool {
	out := map[string]bool{}
	add := func(name string) {
		if cmp.Or(s.DeviceClasses.Classes[name].Create, s.DeviceClasses.Create) != "Never" {
			out[name] = true
		}
	}
	for _, g := range s.NodeGroups {
		for _, driver := range g.Drivers {
			if p, ok := s.Profiles.ByName(driver); ok {
				for _, c := range p.Classes {
					add(c.Name)
				}
			}
		}
	}
	for _, c := range s.DeviceClasses.Extra {
		add(c.Name)
	}
	return out
}

// foreign are the wanted classes that somebody else created: addon-operator's Helm would take them over without a word.
func foreign(snapshots []pkg.Snapshot, wanted map[string]bool, logger pkg.Logger) []string {
	var out []string
	for _, s := range snapshots {
		var f classFact
		if err := s.UnmarshalTo(&f); err != nil {
			logger.Warn(fmt.Sprintf("a DeviceClass cannot be read and is left out: %s", err))
			continue
		}
		if wanted[f.Name] && !f.ours() {
			out = append(out, f.Name)
		}
	}
	return sorted(out)
}
