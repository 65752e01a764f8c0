package profile

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// Validate says what is wrong with a profile that a user wrote. The error joins one line for each field, which names the
// field, what was found there and what is expected. An expression that the API server would
// refuse is one of the faults: its DeviceClass would stop the whole release.
func (d *Driver) Validate() error {
	c := &checker{}
	switch {
	case len(validation.IsDNS1123Label(d.Name)) > 0:
		c.wrong("name", d.Name, "a lower case name of at most 63 letters, digits and dashes")
	case d.Plugin != nil && len("driver-"+d.Name) > validation.LabelValueMaxLength:
		c.wrong("name", d.Name, "at most 56 characters: its pods have the label driver-<name>, and a label no more than 63")
	case d.Exporter != nil && len("exporter-"+d.Name) > validation.LabelValueMaxLength:
		c.wrong("name", d.Name, "at most 54 characters: pods of its exporter have the label exporter-<name>, and a label no more than 63")
	}
	c.drivers(d)
	c.attributes(d)
	c.types(d)
	c.memory(d.Memory)
	c.topology(d.Topology)
	c.classes(d.Classes)
	c.sharing(d.Sharing)
	c.managers(d)
	c.gates(d.Gates)
	c.gateNeeds(d)
	c.plugin(d)
	c.exporter(d)
	if len(c.errs) == 0 {
		return nil
	}
	return fmt.Errorf("driver profile %q: %w", d.Name, errors.Join(c.errs...))
}

// checker gathers what is wrong.
type checker struct{ errs []error }

// phrase says what was found where that is no single value; values that are strings are quoted.
type phrase string

func (c *checker) wrong(field string, found any, expected string) {
	if s, ok := found.(string); ok {
		found = fmt.Sprintf("%q", s)
	}
	c.errs = append(c.errs, fmt.Errorf("%s: found %v, expected %s", field, found, expected))
}

// oneOf checks a value that must be one of a few words.
func oneOf[T ~string](c *checker, field string, found T, words ...T) {
	if slices.Contains(words, found) {
		return
	}
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = fmt.Sprintf("%q", string(w))
	}
	c.wrong(field, string(found), "one of "+strings.Join(list, ", "))
}

func (c *checker) kind(field string, k v1alpha1.DeviceKind) {
	oneOf(c, field, k, v1alpha1.DeviceWhole, v1alpha1.DevicePartition, v1alpha1.DevicePassthrough, v1alpha1.DeviceOther)
}

func (c *checker) drivers(d *Driver) {
	seen := map[string]bool{}
	for i, name := range d.DriverNames() {
		field := "driverName"
		if i > 0 {
			field = fmt.Sprintf("otherDrivers[%d]", i-1)
		}
		// ResourceSlice spec.driver allows no longer name.
		if len(name) > 63 || len(validation.IsDNS1123Subdomain(name)) > 0 {
			c.wrong(field, name, "a DNS subdomain of at most 63 characters, as in ResourceSlice spec.driver")
		}
		if seen[name] {
			c.wrong(field, name, "a driver name that the profile does not already have")
		}
		seen[name] = true
	}
}

func (c *checker) types(d *Driver) {
	switch {
	case d.TypeAttribute == "" && len(d.Types) > 0:
		c.wrong("typeAttribute", "", "the attribute whose values `types` lists")
	case d.TypeAttribute != "" && len(d.Types) == 0:
		c.wrong("types", phrase("none"), "at least one value of the attribute "+d.TypeAttribute)
	}
	for _, t := range sortedKeys(d.Types) {
		c.kind(fmt.Sprintf("types[%s]", t), d.Types[t])
	}
}

func (c *checker) memory(m Memory) {
	if m.Capacity != "" && m.Attribute != "" {
		c.wrong("memory", phrase(fmt.Sprintf("capacity %q and attribute %q", m.Capacity, m.Attribute)), "at most one of the two")
	}
	c.qualified("memory.capacity", m.Capacity)
	c.qualified("memory.attribute", m.Attribute)
	if _, ok := m.Factor(); !ok {
		oneOf(c, "memory.unit", m.Unit, sortedKeys(units)...)
	}
	if m.Unit != "" && m.Attribute == "" {
		c.wrong("memory.unit", m.Unit, "none without memory.attribute: a capacity is a quantity and carries its own unit")
	}
	for i, k := range m.MissingOn {
		c.kind(fmt.Sprintf("memory.missingOn[%d]", i), k)
	}
	if m.NominalBelow < 0 || m.NominalBelow > 1 {
		c.wrong("memory.nominalBelow", m.NominalBelow, "a fraction from 0 to 1")
	}
}

func sortedKeys[K ~string, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
