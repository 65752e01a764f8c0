package profile

import (
	"testing"

	"github.com/stretchr/testify/require"
	resourcev1 "k8s.io/api/resource/v1"
	dracel "k8s.io/dynamic-resource-allocation/cel"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/profiles"
)

func builtin(t *testing.T) []Driver {
	t.Helper()
	drivers, err := Builtin()
	require.NoError(t, err, "every file is read strictly: an unknown key is an error")
	return drivers
}

func TestBuiltinProfilesAreValid(t *testing.T) {
	files, err := profiles.Files.ReadDir("drivers")
	require.NoError(t, err)
	drivers := builtin(t)
	require.Len(t, drivers, len(files))
	for i, d := range drivers {
		require.NoError(t, d.Validate())
		require.Equal(t, d.Name+".yaml", files[i].Name(), "a profile is found by its name")
	}
	_, err = NewSet(drivers...)
	require.NoError(t, err)
}

// words are the types of devices that a driver publishes, by kind; a driver without a word for them has whole ones only.
func words(d *Driver) map[string]v1alpha1.DeviceKind {
	if d.TypeAttribute == "" {
		return map[string]v1alpha1.DeviceKind{"": v1alpha1.DeviceWhole}
	}
	return d.Types
}

func published(d *Driver, word string) dracel.Device {
	device := dracel.Device{Driver: d.DriverName, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{}}
	if d.TypeAttribute != "" {
		device.Attributes[resourcev1.QualifiedName(d.TypeAttribute)] = resourcev1.DeviceAttribute{StringValue: &word}
	}
	return device
}

func serves(choice v1alpha1.DeviceChoice, kind v1alpha1.DeviceKind) bool {
	switch choice {
	case v1alpha1.ChoiceAny:
		return kind == v1alpha1.DeviceWhole || kind == v1alpha1.DevicePartition
	default:
		return string(choice) == string(kind)
	}
}

func TestClassesSelectTheDevicesOfTheirKind(t *testing.T) {
	for _, d := range builtin(t) {
		for _, class := range d.Classes {
			t.Run(class.Name, func(t *testing.T) {
				compiled := dracel.GetCompiler(dracel.Features{}).CompileCELExpression(class.Expression, dracel.Options{})
				require.Nil(t, compiled.Error)
				require.LessOrEqual(t, compiled.MaxCost, uint64(resourcev1.CELSelectorExpressionMaxCost))
				matches := func(device dracel.Device) bool {
					ok, _, err := compiled.DeviceMatches(t.Context(), device)
					require.NoError(t, err)
					return ok
				}
				for word, kind := range words(&d) {
					require.Equal(t, kind, d.KindOf(word))
					if class.Choice != "" {
						require.Equal(t, serves(class.Choice, kind), matches(published(&d, word)), "device of type %q", word)
					}
				}
				if d.TypeAttribute != "" {
					require.False(t, matches(published(&d, "of-the-future")))
				}
				for _, name := range append([]string{"gpu.somebody.else"}, d.OtherDrivers...) {
					require.False(t, matches(dracel.Device{Driver: name}), "device of driver %s", name)
				}
			})
		}
	}
}

// A claim template may ask for every choice of which the driver has devices.
func TestEveryKindHasAClass(t *testing.T) {
	for _, d := range builtin(t) {
		_, ok := d.ClassFor(v1alpha1.ChoiceAny)
		require.True(t, ok, d.Name)
		if d.TypeAttribute == "" {
			continue
		}
		for _, kind := range d.Types {
			class, ok := d.ClassFor(v1alpha1.DeviceChoice(kind))
			require.True(t, ok, "%s has %s devices and no class for them", d.Name, kind)
			require.Equal(t, string(kind), string(class.Choice))
		}
	}
	_, ok := (&Driver{}).ClassFor(v1alpha1.ChoiceAny)
	require.False(t, ok)
}

func TestKindOf(t *testing.T) {
	whole := Driver{}
	require.Equal(t, v1alpha1.DeviceWhole, whole.KindOf("anything"))
	typed := Driver{TypeAttribute: "type", Types: map[string]v1alpha1.DeviceKind{"card": v1alpha1.DeviceWhole}}
	require.Equal(t, v1alpha1.DeviceWhole, typed.KindOf("card"))
	require.Equal(t, v1alpha1.DeviceOther, typed.KindOf("Card"))
	require.Equal(t, v1alpha1.DeviceOther, typed.KindOf(""))
}

func TestDistributions(t *testing.T) {
	list, err := Distributions()
	require.NoError(t, err)
	require.Len(t, list, 3)
	for _, name := range []string{"Deckhouse", "Rosa", "Vanilla"} {
		d, ok := list[name]
		require.True(t, ok, name)
		require.Equal(t, name, d.Name)
		require.NotEmpty(t, d.KubeletRootDir)
		require.NotEmpty(t, d.ControlPlanePods.Namespace)
		require.NotEmpty(t, d.TerminatingTaints)
		c := &checker{}
		c.managers(&Driver{Managers: d.Managers})
		require.Empty(t, c.errs)
	}
	require.Equal(t, "node.deckhouse.io/group", list["Deckhouse"].NodeGroupLabel)
	require.Empty(t, list["Vanilla"].NodeGroupLabel)
}
