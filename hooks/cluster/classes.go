package cluster

import (
	"fmt"

	"github.com/deckhouse/module-sdk/pkg"

	"github.com/gpu-dra/gpu-dra/internal/deviceclass"
)

// classFact is what classFilter leaves of a DeviceClass.
type classFact struct {
	Name string `json:"name"`
	// Module is the label that is on everything the module creates.
	Module string `json:"module"`
}

func (f classFact) ours() bool {
	return deviceclass.Ours(map[string]string{deviceclass.LabelModule: f.Module}, true)
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
