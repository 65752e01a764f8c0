package claim

import (
	"fmt"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/condition"
	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// Satisfiable compares what a template asks for with the devices that are published, whether in use or not: kind, product,
// memory, number and taints. User selectors are not evaluated, since DeviceGroups do not have what they look at: with
// them it is not known. Nor is it known which devices share a node, which the message says. The gates are what DriverGates
// returns: a device that the driver cannot share as asked is none. The spec is one that Build accepts.
func Satisfiable(spec v1alpha1.GPUClaimTemplateSpec, devices []v1alpha1.DeviceGroup, driver *profile.Driver, gates GroupGates) metav1.Condition {
	spec = withDefaults(spec)
	result := func(status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
		return condition.New(condition.Satisfiable, status, reason, fmt.Sprintf(format, args...))
	}
	no := func(format string, args ...any) metav1.Condition {
		return result(metav1.ConditionFalse, condition.TemplateNoDevice, format, args...)
	}
	if why := sharingOff(spec, driver, gates); why != "" {
		return result(metav1.ConditionFalse, condition.TemplateSharingOff, "%s", why)
	}
	kinds := kindsFor(spec, driver)

	left := keep(devices, func(g v1alpha1.DeviceGroup) bool { return g.Driver == driver.DriverName && g.Count > 0 })
	if len(left) == 0 {
		return result(metav1.ConditionUnknown, condition.TemplateNoDevicesYet, "No device of driver %s is published yet.", driver.DriverName)
	}
	all := left
	if left = keep(all, func(g v1alpha1.DeviceGroup) bool { return slices.Contains(kinds, g.Kind) }); len(left) == 0 {
		return no("spec.device: %s takes %s; driver %s publishes only %s. Set another device, or partition the cards.", spec.Device, join(kinds), driver.DriverName, kindsOf(all))
	}
	ofKind := left
	if left = keep(ofKind, func(g v1alpha1.DeviceGroup) bool { return productMatches(spec.Product, g.Product) }); len(left) == 0 {
		return no("spec.product: %q matches none of: %s. Correct it; * stands for any characters.", spec.Product, productsOf(ofKind))
	}
	if m := spec.MinMemory; m != nil {
		ofProduct := left
		left = keep(ofProduct, func(g v1alpha1.DeviceGroup) bool { return g.Memory != nil && g.Memory.Cmp(*m) >= 0 })
		if len(left) == 0 {
			return tooSmall(*m, ofProduct, driver)
		}
	}
	total, free := count(left)
	switch {
	case total < spec.Count:
		return no("spec.count: %d devices in one claim, and only %d in the cluster match. Lower it, or ask for less of each.", spec.Count, total)
	case free < spec.Count:
		return no("%d devices match, of which %d carry a taint that this template does not tolerate. See the conditions of their GPUNodes.", total, total-free)
	}
	if len(spec.Selectors) > 0 {
		return result(metav1.ConditionUnknown, condition.TemplateDevicesNotKnown, "%d devices match: %s; which of them spec.selectors leave is known to the scheduler only.", total, productsOf(left))
	}
	caveat := ""
	if spec.Count > 1 {
		caveat = " Whether one node has as many was not compared."
	}
	if missing, off := sharingGates(spec, driver, gates); len(off) > 0 {
		caveat += fmt.Sprintf(" A pod that lands in node group %s does not start: the gate %s that sharing needs is off there.", some(off), strings.Join(missing, ", "))
	}
	return result(metav1.ConditionTrue, condition.TemplateSatisfiable, "%d devices match: %s.%s", total, productsOf(left), caveat)
}

// ClassMissing is the condition of a template whose DeviceClass does not exist: its pods wait, whatever devices there are.
func ClassMissing(class string, driver *profile.Driver) metav1.Condition {
	return condition.New(condition.Satisfiable, metav1.ConditionFalse, condition.TemplateClassMissing, fmt.Sprintf(
		"DeviceClass %s does not exist. List driver %s in nodeGroups[].drivers or in the setting claimTemplates, so that the chart creates it, or create it yourself.", class, driver.Name))
}

// Class is the DeviceClass that the requests of a built spec name.
func Class(spec resourcev1.ResourceClaimTemplateSpec) string {
	for _, r := range spec.Spec.Devices.Requests {
		if r.Exactly != nil {
			return r.Exactly.DeviceClassName
		}
		for _, sub := range r.FirstAvailable {
			return sub.DeviceClassName
		}
	}
	return ""
}

// tooSmall says that no device has the memory, with both figures, and what would match.
func tooSmall(m resource.Quantity, devices []v1alpha1.DeviceGroup, driver *profile.Driver) metav1.Condition {
	withMemory := keep(devices, func(g v1alpha1.DeviceGroup) bool { return g.Memory != nil })
	reason, message := condition.TemplateNoDevice, ""
	if len(withMemory) == 0 {
		message = fmt.Sprintf("spec.minMemory: %s is asked for, and none of the devices that match otherwise publishes memory: %s. Remove minMemory and choose by product.", &m, productsOf(devices))
		return condition.New(condition.Satisfiable, metav1.ConditionFalse, reason, message)
	}
	largest := slices.MaxFunc(withMemory, func(a, b v1alpha1.DeviceGroup) int { return a.Memory.Cmp(*b.Memory) })
	message = fmt.Sprintf("spec.minMemory: %s is asked for, and the largest device that matches otherwise, %s, shows %s.", &m, nameOf(largest), shown(*largest.Memory))
	if nominal := driver.Memory.NominalBelow; nominal > 0 && float64(largest.Memory.Value()) >= nominal*float64(m.Value()) {
		reason = condition.TemplateNominalMemory
		message += " A card shows somewhat less than the size it is sold by."
	}
	message += fmt.Sprintf(" minMemory: %s matches it.", proposed(*largest.Memory))
	return condition.New(condition.Satisfiable, metav1.ConditionFalse, reason, message)
}

// kindsFor returns the kinds that the choice's class may give; none when there is no such class.
func kindsFor(spec v1alpha1.GPUClaimTemplateSpec, driver *profile.Driver) []v1alpha1.DeviceKind {
	class, ok := classFor(driver, spec.Device)
	if !ok {
		return nil
	}
	kinds, err := classKinds(driver, class)
	if err != nil {
		return nil
	}
	return kinds
}

func keep(devices []v1alpha1.DeviceGroup, ok func(v1alpha1.DeviceGroup) bool) []v1alpha1.DeviceGroup {
	var out []v1alpha1.DeviceGroup
	for _, g := range devices {
		if ok(g) {
			out = append(out, g)
		}
	}
	return out
}

func count(devices []v1alpha1.DeviceGroup) (total, untainted int32) {
	for _, g := range devices {
		total += g.Count
		untainted += g.Count - g.Tainted
	}
	return total, untainted
}
