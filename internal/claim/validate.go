package claim

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// The bounds that the CRD sets too. A template out of a file has not passed the CRD.
const (
	maxCount     = 32
	maxSelectors = 16
)

// leastMemory that can be meant: `16` and `16m` are bytes and thousandths of bytes, not megabytes.
const leastMemory = 1 << 20

// withDefaults fills in what the CRD would.
func withDefaults(spec v1alpha1.GPUClaimTemplateSpec) v1alpha1.GPUClaimTemplateSpec {
	if spec.Device == "" {
		spec.Device = v1alpha1.ChoiceAny
	}
	if spec.Count == 0 {
		spec.Count = 1
	}
	if spec.Fit == "" {
		spec.Fit = v1alpha1.FitFirst
		if spec.MinMemory != nil {
			spec.Fit = v1alpha1.FitSmallest
		}
	}
	return spec
}

// validate says what is wrong with a spec whatever the driver.
func (p *problems) validate(spec v1alpha1.GPUClaimTemplateSpec) {
	if spec.Driver == "" {
		p.invalid("spec.driver", "is empty; name the profile of a driver")
	}
	oneOf(p, "spec.device", spec.Device, v1alpha1.ChoiceAny, v1alpha1.ChoiceWhole, v1alpha1.ChoicePartition, v1alpha1.ChoicePassthrough)
	oneOf(p, "spec.fit", spec.Fit, v1alpha1.FitSmallest, v1alpha1.FitFirst)
	if spec.SameAttribute != "" {
		oneOf(p, "spec.sameAttribute", spec.SameAttribute, v1alpha1.SamePCIeRoot, v1alpha1.SameNUMANode)
	}
	if spec.Count < 1 || spec.Count > maxCount {
		p.invalid("spec.count", "is %d; a claim has 1 to %d devices", spec.Count, maxCount)
	}
	switch m := spec.MinMemory; {
	case m == nil && spec.Fit == v1alpha1.FitSmallest:
		p.invalid("spec.fit", "Smallest needs spec.minMemory, from which its memory windows start; set it, or fit: First")
	case m != nil && m.Sign() <= 0:
		p.invalid("spec.minMemory", "is %s; it must be more than 0, such as 16Gi; leave it out if memory does not matter", m)
	case m != nil && m.CmpInt64(leastMemory) < 0:
		p.invalid("spec.minMemory", "is %s, which is less than 1Mi of bytes; give the unit, such as 16Gi", m)
	}
	if n := len(spec.Product); n > resourcev1.DeviceAttributeMaxValueLength || !utf8.ValidString(spec.Product) {
		p.invalid("spec.product", "has %d bytes; a product name is text of at most %d", n, resourcev1.DeviceAttributeMaxValueLength)
	}
	if n := len(spec.Selectors); n > maxSelectors {
		p.invalid("spec.selectors", "has %d entries, at most %d are allowed; join some with &&", n, maxSelectors)
	}
	for i, s := range spec.Selectors {
		p.checkExpression(fmt.Sprintf("spec.selectors[%d]", i), s)
	}
	if spec.Sharing != nil {
		p.validateSharing(*spec.Sharing)
	}
}

func (p *problems) validateSharing(s v1alpha1.Sharing) {
	if s.Strategy == "" {
		p.invalid("spec.sharing.strategy", "is empty; name a strategy, or remove spec.sharing")
	}
	if s.Interval != "" {
		oneOf(p, "spec.sharing.interval", s.Interval, "Default", "Short", "Medium", "Long")
	}
	if n := s.ActiveThreadPercentage; n != nil && (*n < 1 || *n > 100) {
		p.invalid("spec.sharing.activeThreadPercentage", "is %d; expected 1 to 100 percent", *n)
	}
	if q := s.PinnedMemoryLimit; q != nil && q.CmpInt64(leastMemory) < 0 {
		p.invalid("spec.sharing.pinnedMemoryLimit", "is %s; expected at least 1Mi, with its unit", q)
	}
}

func oneOf[T ~string](p *problems, field string, found T, words ...T) {
	if !slices.Contains(words, found) {
		p.invalid(field, "is %q; expected one of %s", found, join(words))
	}
}

// classOf returns the class that serves the choice and the kinds it may give.
func (p *problems) classOf(spec v1alpha1.GPUClaimTemplateSpec, d *profile.Driver) (profile.Class, []v1alpha1.DeviceKind, bool) {
	class, ok := classFor(d, spec.Device)
	if !ok {
		var has []v1alpha1.DeviceChoice
		for _, c := range d.Classes {
			if c.Choice != "" {
				has = append(has, c.Choice)
			}
		}
		p.unsupported("spec.device", "driver %q has no DeviceClass for %s; it has one for: %s", d.Name, spec.Device, orNone(has))
		return class, nil, false
	}
	kinds, err := classKinds(d, class)
	if err != nil {
		p.unsupported("spec.driver", "profile %q, DeviceClass %q: its CEL expression does not compile: %s; correct it in customDrivers", d.Name, class.Name, err.Message)
		return class, nil, false
	}
	if _, published := memoryKey(d); !published && spec.MinMemory != nil {
		p.unsupported("spec.minMemory", "driver %q publishes no memory; remove it and say what you mean in spec.product or spec.selectors", d.Name)
	}
	return class, kinds, true
}

func join[T ~string](words []T) string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = string(w)
	}
	return strings.Join(out, ", ")
}

func orNone[T ~string](words []T) string {
	if len(words) == 0 {
		return "none"
	}
	return join(words)
}

func sortedKeys[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
