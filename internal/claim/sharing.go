package claim

import (
	"encoding/json"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// config returns one opaque config for each kind of device that the class may give, because which kind it will be is
// known only when it is allocated: a driver takes the config of the kind that fits and passes over the other.
//
// `requests` stays empty, which means all: a driver compares them with the request in the allocation result, and that is
// `gpu/<sub-request>` for a prioritized list, so a config for `gpu` would be passed over without a word.
func (b *builder) config() []resourcev1.DeviceClaimConfiguration {
	s := b.spec.Sharing
	if s == nil || s.Strategy == "" {
		return nil
	}
	strategy, ok := b.strategy(*s)
	if !ok {
		return nil
	}
	values := b.sharingValues(*s, strategy)
	var out []resourcev1.DeviceClaimConfiguration
	done := map[string]bool{}
	for _, k := range b.kinds {
		kind := b.driver.Sharing.Kinds[k]
		if kind == "" || done[kind] {
			continue
		}
		done[kind] = true
		out = append(out, b.opaque(kind, values))
	}
	return out
}

// strategy finds the strategy in the profile and makes sure that every device the class may give has it.
func (b *builder) strategy(s v1alpha1.Sharing) (profile.SharingStrategy, bool) {
	const field = "spec.sharing.strategy"
	sharing := b.driver.Sharing
	if sharing == nil {
		b.unsupported(field, "driver %q cannot share a device; remove spec.sharing", b.driver.Name)
		return profile.SharingStrategy{}, false
	}
	strategy, ok := sharing.Strategies[s.Strategy]
	if !ok {
		b.unsupported(field, "driver %q has no strategy %q; it has: %s", b.driver.Name, s.Strategy, orNone(sortedKeys(sharing.Strategies)))
		return strategy, false
	}
	var cannot []v1alpha1.DeviceKind
	for _, k := range b.kinds {
		if k != v1alpha1.DeviceOther && (!slices.Contains(strategy.Kinds, k) || sharing.Kinds[k] == "") {
			cannot = append(cannot, k)
		}
	}
	if len(cannot) > 0 {
		b.unsupported(field, "%s of driver %q is for: %s; spec.device: %s may also give: %s; set a device that gives only the former, or another strategy",
			s.Strategy, b.driver.Name, orNone(strategy.Kinds), b.spec.Device, join(cannot))
		return strategy, false
	}
	return strategy, true
}

// sharingValues returns the values by JSON pointer.
func (b *builder) sharingValues(s v1alpha1.Sharing, strategy profile.SharingStrategy) map[string]any {
	values := map[string]any{}
	set := func(param string, value any) {
		pointer, ok := strategy.Params[param]
		if ok {
			values[pointer] = value
			return
		}
		b.unsupported("spec.sharing."+param, "strategy %s of driver %q has no such setting; remove it", s.Strategy, b.driver.Name)
	}
	if pointer, ok := strategy.Params["strategy"]; ok {
		values[pointer] = s.Strategy
	}
	if s.Interval != "" {
		set("interval", s.Interval)
	}
	if s.ActiveThreadPercentage != nil {
		set("activeThreadPercentage", *s.ActiveThreadPercentage)
	}
	if s.PinnedMemoryLimit != nil {
		set("pinnedMemoryLimit", s.PinnedMemoryLimit.String())
	}
	return values
}

func (b *builder) opaque(kind string, values map[string]any) resourcev1.DeviceClaimConfiguration {
	parameters := map[string]any{"apiVersion": b.driver.Sharing.APIVersion, "kind": kind}
	for _, pointer := range sortedKeys(values) {
		if !setPointer(parameters, pointer, values[pointer]) {
			b.unsupported("spec.driver", "profile %q: the sharing parameter %s lies within another one; correct it in customDrivers", b.driver.Name, pointer)
		}
	}
	// Maps of strings and numbers always encode, with sorted keys.
	raw, _ := json.Marshal(parameters)
	return resourcev1.DeviceClaimConfiguration{DeviceConfiguration: resourcev1.DeviceConfiguration{
		Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: b.driver.DriverName, Parameters: runtime.RawExtension{Raw: raw}},
	}}
}

// setPointer sets a value at a JSON pointer (RFC 6901), making objects on the way; false when something else is there.
func setPointer(object map[string]any, pointer string, value any) bool {
	path := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i := range path {
		path[i] = strings.NewReplacer("~1", "/", "~0", "~").Replace(path[i])
	}
	last := len(path) - 1
	for _, name := range path[:last] {
		if _, ok := object[name]; !ok {
			object[name] = map[string]any{}
		}
		child, ok := object[name].(map[string]any)
		if !ok {
			return false
		}
		object = child
	}
	if _, taken := object[path[last]]; taken {
		return false
	}
	object[path[last]] = value
	return true
}
