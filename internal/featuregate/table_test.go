package featuregate

import (
	"slices"
	"testing"
)

func TestDefault(t *testing.T) {
	type want struct{ on, known bool }
	on, off, no := want{true, true}, want{false, true}, want{}
	for name, byMinor := range map[string]map[int]want{
		// The claims of well-read articles that are wrong: see the version table of the Kubernetes sources.
		DynamicResourceAllocation:      {32: off, 33: off, 34: on, 35: on, 37: on, 38: on},
		"DRAResourceClaimDeviceStatus": {31: off, 32: off, 33: on, 34: on, 37: on, 38: on},
		"DRAPartitionableDevices":      {33: off, 34: off, 35: off, 36: on, 37: on, 38: no},
		"SidecarContainers":            {31: on, 33: on, 34: on, 36: on, 37: on},
		ExtendedResource:               {33: off, 34: off, 35: off, 36: on, 37: on, 38: on},
		PrioritizedList:                {33: off, 34: on, 35: on, 36: on},
		"DRADeviceTaints":              {34: off, 35: off, 36: on, 37: on, 38: no},
		"DRADeviceTaintRules":          {34: off, 35: off, 36: off, 37: on},
		"DRAFractionalCapacityRange":   {36: off, 37: off},
		"DRAControlPlaneController":    {31: off, 32: off, 37: off},
		"GangScheduling":               {34: off, 36: off, 37: off},
		"MemoryManager":                {34: on, 36: on},
		"DRAExtendedResources":         {34: no},
		"MemoryQoS":                    {34: no},
	} {
		for minor, w := range byMinor {
			if on, known := Default(name, minor); on != w.on || known != w.known {
				t.Errorf("Default(%s, %d) = %t, %t, want %t, %t", name, minor, on, known, w.on, w.known)
			}
		}
	}
}

func TestTableIsWellFormed(t *testing.T) {
	components := []string{APIServer, ControllerManager, Scheduler, Kubelet}
	for name := range readers {
		if _, there := table[name]; !there {
			t.Errorf("readers of %s, which is not in the table", name)
		}
	}
	for name, g := range table {
		if !slices.IsSortedFunc(g.specs, func(a, b spec) int { return a.from - b.from }) || len(g.specs) == 0 {
			t.Errorf("%s: specs are not in order", name)
		}
		if len(readers[name]) == 0 {
			t.Errorf("%s: nobody reads it", name)
		}
		for _, r := range Readers(name) {
			if !slices.Contains(components, r) {
				t.Errorf("%s: reader %q", name, r)
			}
		}
		for minor := oldest; minor <= newest; minor++ {
			for _, n := range needsOf(name, minor) {
				if _, ok := table[n]; !ok {
					t.Errorf("%s: needs %s, which is not in the table", name, n)
				}
			}
		}
	}
}

func TestMinor(t *testing.T) {
	for version, want := range map[string]int{
		"v1.34.4": 34, "1.35": 35, "v1.36.0-rc.1": 36, "v1.33.2+k3s1": 33, "v1.34.4-gke.100": 34,
		"": -1, "fake": -1, "v2.1.0": -1, "kwok-v0.7.0": -1, "v1.x": -1, "v1.34a": -1, "sha256:1.34": -1,
	} {
		got, ok := Minor(version)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("Minor(%q) = %d, want %d", version, got, want)
		}
	}
}
