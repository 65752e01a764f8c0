package claim

import (
	"context"
	"math"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/dynamic-resource-allocation/cel"
	"pgregory.net/rapid"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

var devices = cel.NewCache(1, cel.Features{})

// matches evaluates selectors as the scheduler does. An error is one that would stop the pod on every node.
func matches(t require.TestingT, driverName string, selectors []resourcev1.DeviceSelector, d resourcev1.Device) bool {
	for _, s := range selectors {
		compiled := devices.GetOrCompile(s.CEL.Expression)
		require.Nil(t, compiled.Error, s.CEL.Expression)
		ok, _, err := compiled.DeviceMatches(context.Background(), cel.Device{Driver: driverName, Attributes: d.Attributes, Capacity: d.Capacity})
		require.NoError(t, err, s.CEL.Expression)
		if !ok {
			return false
		}
	}
	return true
}

// nasty draws text of at most 64 bytes that is rich in what quoting and regular expressions get wrong.
func nasty(t *rapid.T, alphabet, label string) string {
	s := rapid.StringOf(rapid.OneOf(
		rapid.SampledFrom([]rune(alphabet)),
		rapid.Rune(),
	)).Draw(t, label)
	for len(s) > resourcev1.DeviceAttributeMaxValueLength {
		s = s[:len(s)-1]
	}
	return strings.ToValidUTF8(s, "")
}

func TestProductMeansWhatItSays(t *testing.T) {
	set := profiles(t)
	rapid.Check(t, func(t *rapid.T) {
		pattern := nasty(t, "**aab\"'`\\\n\r\x00.+?()[]{}|^$ ", "pattern")
		product := nasty(t, "aab\"'`\\\n\r\x00.+?()[]{}|^$ ", "product")
		if rapid.Bool().Draw(t, "related") {
			// Stars stand for something: the product is one that the pattern describes.
			product = strings.ReplaceAll(pattern, "*", product)
			if len(product) > resourcev1.DeviceAttributeMaxValueLength {
				return
			}
		}
		built, err := Build(v1alpha1.GPUClaimTemplateSpec{Driver: "nvidia", Product: pattern}, set, Capabilities{})
		require.NoError(t, err)
		require.NoError(t, Check(built))
		got := matches(t, "gpu.nvidia.com", built.Spec.Devices.Requests[0].Exactly.Selectors, device("gpu", "gpu", withProduct(product)))
		require.Equal(t, productMatches(pattern, product), got)
		if !strings.Contains(pattern, "*") {
			require.Equal(t, pattern == "" || pattern == product, got)
		}
	})
}

// Whatever the minimum: a device with enough is in exactly one of the windows or above them all, and always in the last
// step; a device with too little is in none.
func TestEverySizeHasItsPlaceOnTheLadder(t *testing.T) {
	set := profiles(t)
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.OneOf(
			rapid.Int64Range(1<<20, math.MaxInt64),
			rapid.Map(rapid.IntRange(20, 62), func(n int) int64 { return 1 << n }),
		).Draw(t, "minMemory")
		format := rapid.SampledFrom([]resource.Format{resource.BinarySI, resource.DecimalSI, resource.DecimalExponent}).Draw(t, "format")
		driverName := rapid.SampledFrom([]string{"nvidia", "npu"}).Draw(t, "driver")
		unit := int64(1)
		if driverName == "npu" {
			unit = 1 << 20
		}
		around := rapid.SampledFrom([]int64{1, 2, 4, 8, 16}).Draw(t, "around")
		size := new(big.Int).Mul(big.NewInt(m), big.NewInt(around))
		size.Add(size, big.NewInt(rapid.Int64Range(-2, 2).Draw(t, "offset")*unit))
		if !size.IsInt64() {
			return
		}
		has := size.Int64()
		d := device("d", "gpu", withCapacity("memory", resource.NewQuantity(has, resource.BinarySI).String()))
		if driverName == "npu" {
			has -= has % unit
			d = device("d", "npu", withNumber("memory", has/unit))
		}

		built, err := Build(v1alpha1.GPUClaimTemplateSpec{Driver: driverName, MinMemory: resource.NewQuantity(m, format)}, set, Capabilities{})
		require.NoError(t, err)
		require.NoError(t, Check(built))
		request := built.Spec.Devices.Requests[0]
		steps := [][]resourcev1.DeviceSelector{}
		names := map[string]bool{}
		for _, sub := range request.FirstAvailable {
			steps = append(steps, sub.Selectors)
			require.Regexp(t, `^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`, sub.Name)
			names[sub.Name] = true
		}
		require.Len(t, names, len(steps), "names are unique")
		if request.Exactly != nil {
			steps = append(steps, request.Exactly.Selectors)
		}
		require.LessOrEqual(t, len(steps), resourcev1.FirstAvailableDeviceRequestMaxSize)

		profile, _ := set.ByName(driverName)
		in := 0
		for _, s := range steps[:len(steps)-1] {
			if matches(t, profile.DriverName, s, d) {
				in++
			}
		}
		last := matches(t, profile.DriverName, steps[len(steps)-1], d)
		require.Equal(t, has >= m, last)
		switch {
		case has < m:
			require.Zero(t, in)
		case len(steps) == windowCount+1 && has/8 < m:
			require.Equal(t, 1, in)
		default:
			require.LessOrEqual(t, in, 1)
		}
	})
}
