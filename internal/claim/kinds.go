package claim

import (
	"context"
	"maps"
	"slices"
	"sync"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	celselector "github.com/gpu-dra/gpu-dra/internal/selector"
)

// unheardOfType stands for every value of the type attribute that a profile does not name.
const unheardOfType = "gpu-dra: no such type"

// classes keeps the compiled expressions of DeviceClasses: there are few, and every template is compared with one.
var classes = sync.OnceValue(func() *cel.Cache { return cel.NewCache(64, celselector.Features) })

// kindOrder is the order in which kinds are spoken of.
var kindOrder = []v1alpha1.DeviceKind{v1alpha1.DeviceWhole, v1alpha1.DevicePartition, v1alpha1.DevicePassthrough, v1alpha1.DeviceOther}

// classKinds returns the kinds of devices that a class may give, in kindOrder: the class itself is asked, with one
// made-up device of each type of the profile. A class that needs more than the type to decide may give that kind.
// The error is the compiler's, in one line.
func classKinds(d *profile.Driver, class profile.Class) ([]v1alpha1.DeviceKind, *Error) {
	result := classes().GetOrCompile(class.Expression)
	if result.Error != nil {
		return nil, &Error{Message: celselector.Message(result.Error.Detail)}
	}
	if d.TypeAttribute == "" {
		return []v1alpha1.DeviceKind{v1alpha1.DeviceWhole}, nil
	}
	found := map[v1alpha1.DeviceKind]bool{}
	for _, t := range append(slices.Collect(maps.Keys(d.Types)), unheardOfType) {
		device := cel.Device{Driver: d.DriverName, Attributes: map[resourcev1.QualifiedName]resourcev1.DeviceAttribute{
			resourcev1.QualifiedName(d.TypeAttribute): {StringValue: &t},
		}}
		if matches, _, err := result.DeviceMatches(context.Background(), device); matches || err != nil {
			found[d.KindOf(t)] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(kindOrder), func(k v1alpha1.DeviceKind) bool { return !found[k] }), nil
}

// classFor returns the class that serves a choice. Whole is served by the class for Any of a driver that has whole devices
// only.
func classFor(d *profile.Driver, choice v1alpha1.DeviceChoice) (profile.Class, bool) {
	class, ok := d.ClassFor(choice)
	if ok || choice != v1alpha1.ChoiceWhole {
		return class, ok
	}
	if class, ok = d.ClassFor(v1alpha1.ChoiceAny); !ok {
		return class, false
	}
	kinds, err := classKinds(d, class)
	// What is wrong with the class is for the caller to say.
	return class, err != nil || slices.Equal(kinds, []v1alpha1.DeviceKind{v1alpha1.DeviceWhole})
}

// mayLackMemory says that a device of one of these kinds may have no memory key. Of a kind that the profile does not
// know nothing is certain.
func mayLackMemory(m profile.Memory, kinds []v1alpha1.DeviceKind) bool {
	return slices.ContainsFunc(kinds, func(k v1alpha1.DeviceKind) bool {
		return k == v1alpha1.DeviceOther || slices.Contains(m.MissingOn, k)
	})
}
