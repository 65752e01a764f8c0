// Package claim turns what a person means by a GPU (GPUClaimTemplate) into the ResourceClaimTemplate that says it to the
// scheduler, and says what is wrong with it: before it is written, by the API server's own rules for CEL, and after, by the
// devices that exist.
package claim

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// requestName is the name of the one request in every claim: what `resources.claims[].request` of a container may say.
const requestName = "gpu"

// Capabilities are what the API server cannot do. The zero value is a server with every feature that is on by default
// in Kubernetes 1.34.
type Capabilities struct {
	// NoPrioritizedList is true where the server's dry-run refuses or drops `firstAvailable` (feature gate
	// DRAPrioritizedList off): fit Smallest then becomes First.
	NoPrioritizedList bool
}

// Build returns the spec of the ResourceClaimTemplates that say what spec means. It depends on spec, the driver's profile
// and caps only, never on the devices there are, because the result is immutable in the cluster. Fields left empty have
// the defaults of the CRD.
//
// The error is an Errors with all that is wrong: reasons InvalidSpec, UnknownDriverProfile, UnsupportedByDriver, CELError.
func Build(spec v1alpha1.GPUClaimTemplateSpec, profiles *profile.Set, caps Capabilities) (resourcev1.ResourceClaimTemplateSpec, error) {
	spec = withDefaults(spec)
	p := &problems{}
	p.validate(spec)
	driver, ok := profiles.ByName(spec.Driver)
	if !ok {
		if spec.Driver != "" {
			p.add(condition.TemplateUnknownDriver, "spec.driver", "no driver profile is called %q; known: %s; correct the name or describe the driver in customDrivers",
				spec.Driver, strings.Join(profileNames(profiles), ", "))
		}
		return resourcev1.ResourceClaimTemplateSpec{}, p.err()
	}
	b := builder{problems: p, spec: spec, driver: driver}
	b.class, b.kinds, ok = p.classOf(spec, driver)
	out := resourcev1.ResourceClaimTemplateSpec{}
	out.Spec.Devices.Requests = []resourcev1.DeviceRequest{b.request(caps)}
	out.Spec.Devices.Constraints = b.constraints()
	if ok {
		// Which configs fit depends on the class: without one there is nothing more to say.
		out.Spec.Devices.Config = b.config()
	}
	if err := p.err(); err != nil {
		return resourcev1.ResourceClaimTemplateSpec{}, err
	}
	return out, nil
}

// builder gathers the parts of one spec and what is wrong with them.
type builder struct {
	*problems
	spec   v1alpha1.GPUClaimTemplateSpec
	driver *profile.Driver
	class  profile.Class
	kinds  []v1alpha1.DeviceKind
}

func (b *builder) request(caps Capabilities) resourcev1.DeviceRequest {
	windows := b.windows()
	selectors := b.selectors()
	last := windows[len(windows)-1]
	if len(windows) == 1 || caps.NoPrioritizedList {
		return resourcev1.DeviceRequest{Name: requestName, Exactly: &resourcev1.ExactDeviceRequest{
			DeviceClassName: b.class.Name,
			Selectors:       b.with(last, selectors),
			AllocationMode:  resourcev1.DeviceAllocationModeExactCount,
			Count:           int64(b.spec.Count),
		}}
	}
	r := resourcev1.DeviceRequest{Name: requestName}
	for _, w := range windows {
		r.FirstAvailable = append(r.FirstAvailable, resourcev1.DeviceSubRequest{
			Name:            w.name(),
			DeviceClassName: b.class.Name,
			Selectors:       b.with(w, selectors),
			AllocationMode:  resourcev1.DeviceAllocationModeExactCount,
			Count:           int64(b.spec.Count),
		})
	}
	return r
}

// windows returns the memory windows to try in turn; one of zero value when memory does not matter.
func (b *builder) windows() []window {
	m := b.spec.MinMemory
	if m == nil {
		return []window{{}}
	}
	if b.spec.Fit == v1alpha1.FitFirst {
		return []window{{low: wholeBytes(*m)}}
	}
	return ladder(wholeBytes(*m))
}

// selectors returns the selectors that every sub-request has: the product, then the user's own.
func (b *builder) selectors() []resourcev1.DeviceSelector {
	var out []resourcev1.DeviceSelector
	if test, ok := productTest(b.spec.Product); ok {
		if b.driver.ProductAttribute == "" {
			b.unsupported("spec.product", "driver %q publishes no product name; remove it and say what you mean in spec.selectors", b.driver.Name)
		} else {
			// Nothing says that every device of a driver has its product attribute.
			out = append(out, selector(attributeKey(b.driver.DriverName, b.driver.ProductAttribute).holds(true, test)))
		}
	}
	for _, s := range b.spec.Selectors {
		out = append(out, selector(s))
	}
	return out
}

// with puts the selector of a memory window before the others.
func (b *builder) with(w window, others []resourcev1.DeviceSelector) []resourcev1.DeviceSelector {
	if b.spec.MinMemory == nil {
		return others
	}
	k, ok := memoryKey(b.driver)
	if !ok {
		return others
	}
	memory := selector(k.holds(mayLackMemory(b.driver.Memory, b.kinds), memoryTests(b.driver.Memory, w)...))
	return append([]resourcev1.DeviceSelector{memory}, others...)
}

func (b *builder) constraints() []resourcev1.DeviceConstraint {
	same := b.spec.SameAttribute
	if same == "" {
		return nil
	}
	name, ok := b.driver.Topology[same]
	if !ok {
		b.unsupported("spec.sameAttribute", "driver %q does not publish %s; it publishes: %s", b.driver.Name, same, orNone(sortedKeys(b.driver.Topology)))
		return nil
	}
	if b.spec.Count < 2 {
		// One device is like itself. The constraint would say more: that it must have the attribute.
		return nil
	}
	return []resourcev1.DeviceConstraint{{MatchAttribute: ptr.To(resourcev1.FullyQualifiedName(name))}}
}

func selector(expression string) resourcev1.DeviceSelector {
	return resourcev1.DeviceSelector{CEL: &resourcev1.CELDeviceSelector{Expression: expression}}
}

func profileNames(profiles *profile.Set) []string {
	var names []string
	for _, d := range profiles.All() {
		names = append(names, d.Name)
	}
	return names
}
