// Package claimtest makes up the claim templates that can be asked of a driver, for tests: each choice of device with each
// way to ask for memory, product, number, topology and sharing. What a driver can serve is read from its profile here, not
// asked of the code under test.
package claimtest

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Template is one template, under a name that tells what it asks for.
type Template struct {
	Name string
	Spec v1alpha1.GPUClaimTemplateSpec
	// Served is whether the driver can do it, by its profile.
	Served bool
}

// option is one value of one part of a template.
type option struct {
	name string
	set  func(*v1alpha1.GPUClaimTemplateSpec)
	// served by the driver, given the kinds of devices that the choice may give.
	served bool
}

// Templates returns the templates for every choice, whether served or not: each option of each part with each of the others.
func Templates(d *profile.Driver) []Template {
	var out []Template
	for _, choice := range []v1alpha1.DeviceChoice{v1alpha1.ChoiceAny, v1alpha1.ChoiceWhole, v1alpha1.ChoicePartition, v1alpha1.ChoicePassthrough} {
		_, has := d.ClassFor(choice)
		if choice == v1alpha1.ChoiceWhole && !has && len(Kinds(d, v1alpha1.ChoiceAny)) == 1 {
			// Whatever such a driver gives is whole.
			_, has = d.ClassFor(v1alpha1.ChoiceAny)
		}
		templates := []Template{{
			Name:   d.Name + "-" + strings.ToLower(string(choice)),
			Spec:   v1alpha1.GPUClaimTemplateSpec{Driver: d.Name, Device: choice, Namespaces: []string{"default"}},
			Served: has,
		}}
		for _, part := range [][]option{memory(d), product(d), number(d), sharing(d, choice)} {
			templates = each(templates, part)
		}
		out = append(out, templates...)
	}
	return out
}

func each(templates []Template, options []option) []Template {
	var out []Template
	for _, t := range templates {
		for _, o := range options {
			next := Template{Name: t.Name, Spec: *t.Spec.DeepCopy(), Served: t.Served && o.served}
			if o.name != "" {
				next.Name += "-" + o.name
			}
			o.set(&next.Spec)
			out = append(out, next)
		}
	}
	return out
}

func nothing(*v1alpha1.GPUClaimTemplateSpec) {}

func memory(d *profile.Driver) []option {
	published := d.Memory.Capacity != "" || d.Memory.Attribute != ""
	ask := func(fit v1alpha1.Fit) func(*v1alpha1.GPUClaimTemplateSpec) {
		return func(s *v1alpha1.GPUClaimTemplateSpec) { s.MinMemory, s.Fit = ptr.To(resource.MustParse("16Gi")), fit }
	}
	return []option{
		{"", nothing, true},
		{"smallest", ask(v1alpha1.FitSmallest), published},
		{"first", ask(v1alpha1.FitFirst), published},
	}
}

func product(d *profile.Driver) []option {
	ask := func(pattern string) func(*v1alpha1.GPUClaimTemplateSpec) {
		return func(s *v1alpha1.GPUClaimTemplateSpec) { s.Product = pattern }
	}
	published := d.ProductAttribute != ""
	return []option{
		{"", nothing, true},
		{"product", ask("Model X"), published},
		{"pattern", ask("*Model?X*-80(GB)*"), published},
	}
}

func number(d *profile.Driver) []option {
	out := []option{
		{"", nothing, true},
		{"two", func(s *v1alpha1.GPUClaimTemplateSpec) { s.Count = 2 }, true},
	}
	for _, same := range []v1alpha1.SameAttribute{v1alpha1.SamePCIeRoot, v1alpha1.SameNUMANode} {
		out = append(out, option{"two-" + strings.ToLower(string(same)),
			func(s *v1alpha1.GPUClaimTemplateSpec) { s.Count, s.SameAttribute = 2, same }, d.Topology[same] != ""})
	}
	return out
}

func sharing(d *profile.Driver, choice v1alpha1.DeviceChoice) []option {
	out := []option{{"", nothing, true}}
	for _, strategy := range []string{"TimeSlicing", "MPS"} {
		asked := &v1alpha1.Sharing{Strategy: strategy}
		switch strategy {
		case "TimeSlicing":
			asked.Interval = "Short"
		case "MPS":
			asked.ActiveThreadPercentage = ptr.To(int32(50))
		}
		out = append(out, option{strings.ToLower(strategy),
			func(s *v1alpha1.GPUClaimTemplateSpec) { s.Sharing = asked.DeepCopy() }, shares(d, strategy, asked, choice)})
	}
	return out
}

// shares says whether every kind of device that the choice may give has the strategy, with all that is asked of it.
func shares(d *profile.Driver, strategy string, asked *v1alpha1.Sharing, choice v1alpha1.DeviceChoice) bool {
	if d.Sharing == nil {
		return false
	}
	has, ok := d.Sharing.Strategies[strategy]
	if !ok || asked.Interval != "" && has.Params["interval"] == "" || asked.ActiveThreadPercentage != nil && has.Params["activeThreadPercentage"] == "" {
		return false
	}
	for _, kind := range Kinds(d, choice) {
		if !slices.Contains(has.Kinds, kind) || d.Sharing.Kinds[kind] == "" {
			return false
		}
	}
	return true
}

// Kinds are the kinds of devices of a driver that a choice means. Of a driver that tells no kinds apart every device is
// whole, and its class for virtual machines gives the same ones.
func Kinds(d *profile.Driver, choice v1alpha1.DeviceChoice) []v1alpha1.DeviceKind {
	if d.TypeAttribute == "" {
		return []v1alpha1.DeviceKind{v1alpha1.DeviceWhole}
	}
	var out []v1alpha1.DeviceKind
	for _, kind := range []v1alpha1.DeviceKind{v1alpha1.DeviceWhole, v1alpha1.DevicePartition, v1alpha1.DevicePassthrough} {
		meant := string(kind) == string(choice) || choice == v1alpha1.ChoiceAny && kind != v1alpha1.DevicePassthrough
		if meant && publishes(d, kind) {
			out = append(out, kind)
		}
	}
	return out
}

func publishes(d *profile.Driver, kind v1alpha1.DeviceKind) bool {
	for _, k := range d.Types {
		if k == kind {
			return true
		}
	}
	return false
}
