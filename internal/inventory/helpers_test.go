package inventory

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// testProfiles are the built-in profiles and two that no file holds yet: partitions told apart by a bus address, and memory
// in an attribute.
func testProfiles(t testing.TB) *profile.Set {
	t.Helper()
	drivers, err := profile.Builtin()
	require.NoError(t, err)
	drivers = append(drivers[:len(drivers):len(drivers)],
		profile.Driver{
			Name: "amd-test", DriverName: "gpu.amd.test",
			TypeAttribute:      "type",
			Types:              map[string]v1alpha1.DeviceKind{"amdgpu": v1alpha1.DeviceWhole, "amdgpu-partition": v1alpha1.DevicePartition},
			ParentAttribute:    "resource.kubernetes.io/pciBusID",
			IdentityAttribute:  "resource.kubernetes.io/pciBusID",
			ProductAttribute:   "productName",
			PartitionAttribute: "gpu.amd.test/partitionProfile",
			Memory:             profile.Memory{Capacity: "memory"},
		},
		profile.Driver{
			Name: "attr-test", DriverName: "gpu.attr.test",
			Memory: profile.Memory{Attribute: "vram", Unit: "Mi", ZeroMeansUnknown: true},
		},
	)
	set, err := profile.NewSet(drivers...)
	require.NoError(t, err)
	return set
}

// document is one object of a YAML file.
type document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	raw        []byte
}

// documents splits a file into its objects, those in lists included.
func documents(t testing.TB, path string) []document {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var out []document
	for _, raw := range bytes.Split(data, []byte("\n---\n")) {
		var list struct {
			document
			Items []any `json:"items"`
		}
		require.NoError(t, yaml.Unmarshal(raw, &list), path)
		if list.Kind != "List" {
			list.document.raw = raw
			out = append(out, list.document)
			continue
		}
		for _, item := range list.Items {
			raw, err := yaml.Marshal(item)
			require.NoError(t, err)
			d := document{raw: raw}
			require.NoError(t, yaml.Unmarshal(raw, &d))
			out = append(out, d)
		}
	}
	return out
}

// fixture reads the slices of a file of ours.
func fixture(t testing.TB, path string) []*resourcev1.ResourceSlice {
	t.Helper()
	var out []*resourcev1.ResourceSlice
	for _, d := range documents(t, path) {
		require.Equal(t, resourcev1.SchemeGroupVersion.String(), d.APIVersion, path)
		s := &resourcev1.ResourceSlice{}
		require.NoError(t, yaml.UnmarshalStrict(d.raw, s), path)
		out = append(out, s)
	}
	return out
}

func digestAll(d *Digester, slices []*resourcev1.ResourceSlice) []*Slice {
	out := make([]*Slice, len(slices))
	for i, s := range slices {
		out[i] = d.Digest(s)
	}
	return out
}

// rows writes a cluster as lines that a person can check against a fixture.
func rows(c *Cluster) []string {
	var out []string
	for _, n := range c.Nodes {
		out = append(out, nodeRows(n)...)
	}
	for _, p := range c.SharedPools {
		out = append(out, "shared "+p.Scope+" "+p.Driver+" "+poolRow(p.PoolState))
	}
	for _, d := range c.UnknownDrivers {
		out = append(out, "unknown driver "+d)
	}
	return out
}

func nodeRows(n Node) []string {
	var out []string
	for _, d := range n.Drivers {
		row := n.Name + " " + d.Name
		if d.Profile == "" {
			row += " (unknown)"
		} else if !d.Accelerator {
			row += " (no accelerators)"
		}
		if !d.Registered {
			row += " not"
		}
		row += " registered: " + countsRow(d.Counts)
		if d.PublishedTwice > 0 {
			row += fmt.Sprintf(", %d twice", d.PublishedTwice)
		}
		out = append(out, row)
		for _, p := range d.Pools {
			out = append(out, n.Name+"   "+poolRow(p))
		}
	}
	for _, g := range n.Devices {
		words := []string{n.Name, "", fmt.Sprint(g.Count), string(g.Kind)}
		for _, w := range []string{g.Type, g.Product, g.Partition} {
			if w != "" {
				words = append(words, w)
			}
		}
		if g.Memory != nil {
			words = append(words, g.Memory.String())
		}
		row := strings.Join(words, " ")
		if g.Tainted > 0 {
			row += fmt.Sprintf(", %d tainted", g.Tainted)
		}
		out = append(out, row)
	}
	return out
}

func poolRow(p v1alpha1.PoolState) string {
	state := "incomplete"
	if p.Complete {
		state = "complete"
	}
	if p.StaleSlices > 0 {
		state += fmt.Sprintf(" %d stale", p.StaleSlices)
	}
	return fmt.Sprintf("%s@%d %d/%d %s: %s", p.Name, p.Generation, p.Slices, p.ExpectedSlices, state, countsRow(p.Devices))
}

func countsRow(c v1alpha1.DeviceCounts) string {
	row := fmt.Sprintf("%d cards, %d devices, %d whole", c.Physical, c.Published, c.AllocatableWhole)
	if c.Tainted > 0 {
		row += fmt.Sprintf(", %d tainted", c.Tainted)
	}
	return row
}
