package featuregate

import (
	"fmt"
	"strings"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// Record is an instance as a status has it: with the gates of the table only, and with the flags of remembered, which are the last
// known ones where it can't be read now.
func Record(now, remembered Instance) v1alpha1.ComponentInstance {
	out := v1alpha1.ComponentInstance{Component: now.Component, Name: now.Name, Version: now.Version, Unreadable: now.Unreadable,
		ConfigFile: remembered.File, Remembered: now.Unreadable != "" && remembered.Unreadable == ""}
	for gate, on := range remembered.Set {
		if !InTable(gate) {
			continue
		}
		if out.Set == nil {
			out.Set = map[string]bool{}
		}
		out.Set[gate] = on
	}
	for key, on := range remembered.RuntimeConfig {
		if !decides(key) {
			continue
		}
		if out.RuntimeConfig == nil {
			out.RuntimeConfig = map[string]bool{}
		}
		out.RuntimeConfig[key] = on
	}
	if remembered.Emulated != 0 {
		out.EmulatedVersion = fmt.Sprintf("1.%d", remembered.Emulated)
	}
	return out
}

// decides says whether an entry of --runtime-config has to do with a gate.
func decides(key string) bool {
	group, _, _ := strings.Cut(key, "/")
	return group == "api" || gateOfEntry(key) != ""
}

// Recorded are the flags that a status has of an instance.
func Recorded(c v1alpha1.ComponentInstance) Flags {
	emulated, _ := Minor(c.EmulatedVersion)
	return Flags{Set: c.Set, RuntimeConfig: c.RuntimeConfig, Emulated: emulated, File: c.ConfigFile}
}

// FromRecord is an instance as a status has it.
func FromRecord(c v1alpha1.ComponentInstance) Instance {
	return Instance{Component: c.Component, Name: c.Name, Version: c.Version, Flags: Recorded(c), Unreadable: c.Unreadable}
}
