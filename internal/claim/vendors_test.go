package claim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/resourceclaim"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// vendor is a file of testdata/vendors: the devices of one node as the driver of a profile publishes them, in the order in
// which the scheduler looks at them, and what claims get there.
type vendor struct {
	Devices []resourcev1.Device `json:"devices"`
	Claims  []vendorClaim       `json:"claims"`
}

// vendorClaim is one template and what comes of it, on every cluster or on some.
type vendorClaim struct {
	// Shows is what the case is there for, one of the words in mustShow.
	Shows string `json:"shows"`
	// Spec without the driver, which the file's name says.
	Spec v1alpha1.GPUClaimTemplateSpec `json:"spec"`
	// With and Without are features of the cluster that the case is for.
	With    []string `json:"with,omitempty"`
	Without []string `json:"without,omitempty"`
	// Gets are the devices of one claim after the other on the same node; an empty list: that claim waits.
	Gets [][]string `json:"gets,omitempty"`
	// Config are the kinds of the opaque configs that apply to each device that a claim got.
	Config []string `json:"config,omitempty"`
	// Refused is part of the reason why no claim template is made at all.
	Refused string `json:"refused,omitempty"`
}

// mustShow is what the file of a profile has to have a case of: a device that satisfies, none that does, several of unequal
// size, one without the key of memory where the profile says that there may be such, and what sharing comes to.
func mustShow(d *profile.Driver) []string {
	out := []string{"Positive", "Negative", "Unequal"}
	if _, ok := memoryKey(d); !ok {
		out = append(out, "NoMemory")
	} else if len(d.Memory.MissingOn) > 0 {
		out = append(out, "MissingKey")
	}
	if d.Sharing == nil {
		return append(out, "NoSharing")
	}
	for strategy := range d.Sharing.Strategies {
		out = append(out, "Sharing"+strategy)
	}
	return out
}

// Every claim of every vendor's file, in clusters of each minor.
func TestClaimsOnVendorsDevices(t *testing.T) {
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	files, err := filepath.Glob("testdata/vendors/*.yaml")
	require.NoError(t, err)
	require.Len(t, files, len(builtin), "a profile without devices to try it on")
	for _, d := range builtin {
		t.Run(d.Name, func(t *testing.T) {
			v := readVendor(t, d.Name)
			var shown []string
			for i, c := range v.Claims {
				c.Spec.Driver = d.Name
				shown = append(shown, c.Shows)
				onEveryCluster(t, func(t *testing.T, features structured.Features) {
					on := features.Set()
					if !on.HasAll(c.With...) || on.HasAny(c.Without...) {
						return
					}
					c.check(t, i, nodeWith(t, &d, features, v.slice(d.DriverName)))
				})
			}
			require.Empty(t, sets.New(mustShow(&d)...).Difference(sets.New(shown...)).UnsortedList(), "cases that are missing")
		})
	}
}

// Every class by itself, those that no claim template asks for too: it gives as many of the vendor's devices as there are of
// its kinds, and looks at all of them without an error.
func TestClassesOnVendorsDevices(t *testing.T) {
	builtin, err := profile.Builtin()
	require.NoError(t, err)
	for _, d := range builtin {
		v := readVendor(t, d.Name)
		for _, class := range d.Classes {
			kinds, problem := classKinds(&d, class)
			require.Nil(t, problem, class.Name)
			t.Run(class.Name, func(t *testing.T) {
				onEveryCluster(t, func(t *testing.T, features structured.Features) {
					n := nodeWith(t, &d, features, v.slice(d.DriverName))
					claim := resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{{
						Name:    requestName,
						Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class.Name, AllocationMode: resourcev1.DeviceAllocationModeAll},
					}}}}
					want := 0
					for i := range v.Devices {
						if slices.Contains(kinds, d.KindOf(textOf(&d, d.TypeAttribute, &v.Devices[i]))) {
							want++
						}
					}
					require.NotZero(t, want, "no device to try it on")
					got, err := n.allocateClaim(claim)
					require.NoError(t, err)
					require.Len(t, got.Results, want)
				})
			})
		}
	}
}

func readVendor(t *testing.T, name string) vendor {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "vendors", name+".yaml"))
	require.NoError(t, err)
	var v vendor
	require.NoError(t, yaml.UnmarshalStrict(data, &v))
	return v
}

func (v vendor) slice(driverName string) *resourcev1.ResourceSlice {
	return &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: nodeName + "-" + driverName}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driverName, NodeName: ptr.To(nodeName), Devices: v.Devices,
		Pool: resourcev1.ResourcePool{Name: nodeName, ResourceSliceCount: 1, Generation: 1},
	}}
}

func (c vendorClaim) check(t *testing.T, i int, n *node) {
	text, err := json.Marshal(c.Spec)
	require.NoError(t, err)
	label := fmt.Sprintf("claims[%d], %s: %s", i, c.Shows, text)
	if c.Refused != "" {
		require.Empty(t, c.Gets, label)
		set, err := profile.NewSet(*n.driver)
		require.NoError(t, err)
		_, err = Build(c.Spec, set, Capabilities{})
		require.ErrorContains(t, err, c.Refused, label)
		return
	}
	require.NotEmpty(t, c.Gets, label)
	for j, want := range c.Gets {
		got, err := n.allocate(c.Spec)
		require.NoError(t, err, label)
		var names []string
		for _, r := range got.Results {
			names = append(names, r.Device)
			assert.Equal(t, c.Config, configKinds(t, n.driver, c.Spec, got, r), "%s: claim %d", label, j)
		}
		require.Equal(t, append([]string(nil), want...), names, "%s: claim %d", label, j)
	}
}

// configKinds are the kinds of the configs that the driver's plugin finds for a device, by the rule that plugins use.
func configKinds(t *testing.T, d *profile.Driver, spec v1alpha1.GPUClaimTemplateSpec, got resourcev1.DeviceAllocationResult, r resourcev1.DeviceRequestAllocationResult) []string {
	t.Helper()
	var kinds []string
	for _, applied := range resourceclaim.ConfigForResult(got.Config, r) {
		require.Equal(t, d.DriverName, applied.Opaque.Driver)
		var head metav1.TypeMeta
		require.NoError(t, json.Unmarshal(applied.Opaque.Parameters.Raw, &head))
		require.Equal(t, d.Sharing.APIVersion, head.APIVersion)
		if _, says := d.Sharing.Strategies[spec.Sharing.Strategy].Params["strategy"]; says {
			require.Contains(t, string(applied.Opaque.Parameters.Raw), `"`+spec.Sharing.Strategy+`"`)
		}
		kinds = append(kinds, head.Kind)
	}
	return kinds
}
