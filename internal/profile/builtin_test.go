package profile

import (
	"strings"
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

// serves says whether a class for a choice may give a kind. Of a driver without a word for kinds passthrough takes a whole
// device, which the driver itself binds anew.
func serves(d *Driver, choice v1alpha1.DeviceChoice, kind v1alpha1.DeviceKind) bool {
	switch {
	case choice == v1alpha1.ChoiceAny:
		return kind == v1alpha1.DeviceWhole || kind == v1alpha1.DevicePartition
	case choice == v1alpha1.ChoicePassthrough && d.TypeAttribute == "":
		return kind == v1alpha1.DeviceWhole
	default:
		return string(choice) == string(kind)
	}
}

// alwaysTyped are profiles whose vendor's class asks for the type without a guard: every device of theirs has one.
// kubernetes-sigs/dra-driver-nvidia-gpu cmd/gpu-kubelet-plugin/deviceinfo.go sets it for each kind.
var alwaysTyped = map[string]bool{"nvidia": true}

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
					// A vendor's class that serves no choice gives out every kind.
					want := class.Choice == "" || serves(&d, class.Choice, kind)
					require.Equal(t, want, matches(published(&d, word)), "device of type %q", word)
				}
				if d.TypeAttribute != "" && class.Choice != "" {
					require.False(t, matches(published(&d, "of-the-future")))
					if !alwaysTyped[d.Name] {
						require.False(t, matches(dracel.Device{Driver: d.DriverName}), "a device without a type")
					}
				}
				for _, name := range append([]string{"gpu.somebody.else"}, d.OtherDrivers...) {
					require.False(t, matches(dracel.Device{Driver: name}), "device of driver %s", name)
				}
			})
		}
	}
}

// A claim template may ask for every kind of devices that the driver has. Where all are whole ones, the class for any of them
// serves both.
func TestEveryKindHasAClass(t *testing.T) {
	for _, d := range builtin(t) {
		_, ok := d.ClassFor(v1alpha1.ChoiceAny)
		require.True(t, ok, d.Name)
		_, parts := d.ClassFor(v1alpha1.ChoicePartition)
		for _, kind := range words(&d) {
			if _, ok := d.ClassFor(v1alpha1.DeviceChoice(kind)); !ok {
				require.Equal(t, v1alpha1.DeviceWhole, kind, "%s has %s devices and no class for them", d.Name, kind)
				require.False(t, parts, "%s: the class for any device gives parts, too", d.Name)
			}
		}
	}
	_, ok := (&Driver{}).ClassFor(v1alpha1.ChoiceAny)
	require.False(t, ok)
}

// Two drivers may run in one cluster: each class is one object.
func TestClassNamesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, d := range builtin(t) {
		for _, c := range d.Classes {
			require.Empty(t, seen[c.Name], "%s is a class of %s, too", c.Name, d.Name)
			seen[c.Name] = d.Name
			if strings.HasSuffix(c.Name, ".gpu-dra.deckhouse.io") {
				require.True(t, strings.HasPrefix(c.Name, d.Name+"-"), c.Name)
			}
		}
	}
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
		// The two folders that container runtimes read by themselves.
		require.Contains(t, []string{"/var/run/cdi", "/etc/cdi"}, d.CDIRoot)
		require.NotEmpty(t, d.ControlPlanePods.Namespace)
		require.NotEmpty(t, d.TerminatingTaints)
		c := &checker{}
		c.managers(&Driver{Managers: d.Managers})
		require.Empty(t, c.errs)
	}
	require.Equal(t, "node.deckhouse.io/group", list["Deckhouse"].NodeGroupLabel)
	require.Empty(t, list["Vanilla"].NodeGroupLabel)
}
