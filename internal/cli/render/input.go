package render

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
)

// input is everything read so far.
type input struct {
	templates []template
	drivers   []driver
	settings  []document
	// brokenDrivers are names of profiles that are reported already: what uses one is not reported again.
	brokenDrivers []string
	errs          []problem
	// named says where a template's name was seen first.
	named map[string]where
	// documents counts those read, of all files.
	documents int
}

// where is a place in the input.
type where struct {
	name  string
	order int
}

// problem is what is wrong at a place.
type problem struct {
	order int
	err   error
}

// template is a GPUClaimTemplate and where it stands.
type template struct {
	v1alpha1.GPUClaimTemplate
	where where
	// specPath is the path of its spec there: `spec`, or `claimTemplates[2]`.
	specPath string
}

// fail notes what is wrong at a place.
func (in *input) fail(w where, format string, args ...any) {
	err := fmt.Errorf(format, args...)
	if w.name != "" {
		err = fmt.Errorf("%s: %w", w.name, err)
	}
	in.errs = append(in.errs, problem{order: w.order, err: err})
}

// err joins what is wrong in the order of the input; nil when nothing is.
func (in *input) err() error {
	slices.SortStableFunc(in.errs, func(a, b problem) int { return cmp.Compare(a.order, b.order) })
	errs := make([]error, len(in.errs))
	for i := range errs {
		errs[i] = in.errs[i].err
	}
	return errors.Join(errs...)
}

func (in *input) checkNamespaces(names []string) {
	for _, n := range names {
		if len(validation.IsDNS1123Label(n)) > 0 {
			in.fail(where{}, "--namespace: found %q, expected a namespace: at most 63 lower case letters, digits and dashes", n)
		}
	}
}

// read finds out what a document is and takes templates and drivers from it.
func (in *input) read(w where, data []byte) {
	var head struct {
		metav1.TypeMeta
		Items []json.RawMessage
		Spec  struct{ Settings json.RawMessage }
	}
	var keys map[string]json.RawMessage
	// What does not fit into head is no head to look at: the kind decides on its own.
	_ = json.Unmarshal(data, &head)
	_ = json.Unmarshal(data, &keys)
	isSettings := slices.ContainsFunc(settingsKeys, func(k string) bool { return keys[k] != nil })
	switch {
	case head.Kind == "GPUClaimTemplate":
		in.readTemplate(w, head.APIVersion, data)
	case head.Kind == "List" || head.Kind == "GPUClaimTemplateList":
		for i, item := range head.Items {
			in.read(where{fmt.Sprintf("%s, items[%d]", w.name, i), w.order}, item)
		}
	case head.Kind == "ModuleConfig" && head.Spec.Settings != nil:
		in.readSettings(w, "spec.settings", false, head.Spec.Settings)
	case head.Kind == "" && isSettings:
		in.readSettings(w, "", true, data)
	case head.Kind != "":
		in.fail(w, "kind: found %q, expected GPUClaimTemplate, or settings", head.Kind)
	default:
		in.fail(w, "found neither kind: GPUClaimTemplate nor any key of the settings")
	}
}

func (in *input) readTemplate(w where, apiVersion string, data []byte) {
	if want := v1alpha1.GroupVersion.String(); apiVersion != want {
		in.fail(w, "apiVersion: found %q, expected %s", apiVersion, want)
		return
	}
	t := template{where: w, specPath: "spec"}
	if in.decode(w, "", "spec", data, &t.GPUClaimTemplate) {
		in.add(t, "metadata.name")
	}
}

// add takes a template whose name is right and new.
func (in *input) add(t template, nameField string) {
	if t.Name == "" || len(t.Name) > validation.DNS1123LabelMaxLength || len(validation.IsDNS1123Subdomain(t.Name)) > 0 {
		in.fail(t.where, "%s: found %q, expected a name of 1 to 63 lower case letters, digits, dashes and points", nameField, t.Name)
		return
	}
	if first, ok := in.named[t.Name]; ok {
		in.fail(t.where, "%s: %q is taken by the template in %s; the kind is cluster-scoped, so a name is one template", nameField, t.Name, first.name)
		return
	}
	if in.named == nil {
		in.named = map[string]where{}
	}
	in.named[t.Name] = t.where
	in.templates = append(in.templates, t)
}

// field turns a path below `spec`, as package claim gives it, into one in the file.
func (t template) field(path string) string {
	return under(t.specPath, strings.TrimPrefix(strings.TrimPrefix(path, "spec"), "."))
}
