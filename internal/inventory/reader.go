package inventory

import (
	"strings"
	"unique"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// reader reads the devices of one driver as its profile says.
type reader struct {
	facts   unique.Handle[driverFacts]
	counted bool
	// profile is nil for drivers that are unknown or hold no accelerators: nothing of their devices is read.
	profile *profile.Driver

	kind, parent, identity, address, product, partition key
	memoryCapacity, memoryAttribute                     key
	// unit of memoryAttribute in bytes.
	unit int64
}

// key is one name in both spellings that a driver may publish it in: without and with its own domain. A name of another
// domain has one spelling only.
type key struct{ short, long resourcev1.QualifiedName }

func makeKey(driver, name string) key {
	switch domain, id, qualified := strings.Cut(name, "/"); {
	case name == "":
		return key{}
	case !qualified:
		return key{short: resourcev1.QualifiedName(name), long: resourcev1.QualifiedName(driver + "/" + name)}
	case domain == driver:
		return key{short: resourcev1.QualifiedName(id), long: resourcev1.QualifiedName(name)}
	default:
		return key{long: resourcev1.QualifiedName(name)}
	}
}

// lookup returns the value of a key.
func lookup[V any](m map[resourcev1.QualifiedName]V, k key) (value V, ok bool) {
	if k.short != "" {
		if value, ok = m[k.short]; ok {
			return value, true
		}
	}
	if k.long != "" {
		value, ok = m[k.long]
	}
	return value, ok
}

// text returns a string attribute, empty when it is absent or of another type: what a driver means by a product that is a
// number is not guessed.
func text(d *resourcev1.Device, k key) string {
	if a, ok := lookup(d.Attributes, k); ok && a.StringValue != nil {
		return *a.StringValue
	}
	return ""
}

func newReader(driver string, profiles *profile.Set) *reader {
	var p *profile.Driver
	if profiles != nil {
		p, _ = profiles.ByDriver(driver)
	}
	if p == nil {
		p = &profile.Driver{}
	}
	facts := driverFacts{name: driver, profile: p.Name, accelerator: p.DriverName == driver && p.Name != ""}
	r := &reader{facts: unique.Make(facts), counted: facts.counted()}
	if !facts.accelerator {
		return r
	}
	r.profile = p
	r.kind = makeKey(driver, p.TypeAttribute)
	r.parent = makeKey(driver, p.ParentAttribute)
	r.identity = makeKey(driver, p.IdentityAttribute)
	r.address = makeKey(driver, p.AddressAttribute)
	r.product = makeKey(driver, p.ProductAttribute)
	r.partition = makeKey(driver, p.PartitionAttribute)
	r.memoryCapacity = makeKey(driver, p.Memory.Capacity)
	// A unit that nobody knows makes the memory unknown, not wrong.
	if unit, ok := p.Memory.Factor(); ok {
		r.memoryAttribute, r.unit = makeKey(driver, p.Memory.Attribute), unit
	}
	return r
}

// shown is text for what leaves this package: GPUNodes and labels of metrics. An API server takes any bytes by protobuf, JSON would
// put this replacement in their place, and a GPUNode would differ for ever from what is kept of it; Prometheus takes none of them.
func shown(d *resourcev1.Device, k key) string { return strings.ToValidUTF8(text(d, k), "\uFFFD") }

// group of a device that the reader's profile describes.
func (r *reader) group(d *resourcev1.Device) group {
	g := group{driver: r.facts, kind: v1alpha1.DeviceOther, memory: unknownMemory}
	if r.profile == nil {
		return g
	}
	g.deviceType = shown(d, r.kind)
	g.kind = r.profile.KindOf(g.deviceType)
	g.product = shown(d, r.product)
	if g.kind == v1alpha1.DevicePartition || g.kind == v1alpha1.DeviceOther {
		g.partition = shown(d, r.partition)
	}
	g.memory = r.memory(d)
	return g
}

// identityOf is what the profile names as telling the card of a device from others: the parent for parts of cards, the
// device's own identity for whole ones. A kind that the profile does not name may be either.
func (r *reader) identityOf(d *resourcev1.Device, kind v1alpha1.DeviceKind) string {
	if kind == v1alpha1.DevicePartition || kind == v1alpha1.DeviceOther {
		if parent := text(d, r.parent); parent != "" || kind == v1alpha1.DevicePartition {
			return parent
		}
	}
	return text(d, r.identity)
}
