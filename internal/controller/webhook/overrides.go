package webhook

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/sidecar"
)

// usualLimits of an exporter whose profile says nothing.
var usualLimits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")}

// environment of the profile, with the settings' over it. Of several entries of one name the last counts.
func environment(of []profile.SidecarEnv, over []settings.EnvVar, fill *strings.Replacer) []corev1.EnvVar {
	var out []corev1.EnvVar
	set := func(v corev1.EnvVar) {
		if i := slices.IndexFunc(out, func(o corev1.EnvVar) bool { return o.Name == v.Name }); i >= 0 {
			out[i] = v
		} else {
			out = append(out, v)
		}
	}
	for _, v := range of {
		variable := corev1.EnvVar{Name: v.Name, Value: fill.Replace(v.Value)}
		if v.Field != "" {
			variable = corev1.EnvVar{Name: v.Name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: v.Field}}}
		}
		set(variable)
	}
	for _, v := range over {
		set(corev1.EnvVar{Name: v.Name, Value: v.Value})
	}
	return out
}

// limits of cpu and memory: the usual ones, then the memory that follows from the devices, then the profile's own, then the
// settings'. A limit of 0 means none to Kubernetes; it would take a Guaranteed pod out of its class, so it changes nothing.
func limits(out *sidecar.Exporter, e *profile.Exporter, own *settings.Resources) {
	out.Limits = usualLimits.DeepCopy()
	if m := e.Memory; m != nil {
		out.GoPercent = m.GoPercent
		base, errBase := resource.ParseQuantity(m.Base)
		perDevice, errDevice := resource.ParseQuantity(m.PerDevice)
		if errBase == nil && errDevice == nil {
			out.Memory = &sidecar.Memory{Base: base.Value(), PerDevice: perDevice.Value()}
		}
	}
	over := func(list corev1.ResourceList) {
		for name, amount := range list {
			if amount.Sign() <= 0 {
				continue
			}
			out.Limits[name] = amount
			if name == corev1.ResourceMemory {
				out.Memory = nil
			}
		}
	}
	if e.Sidecar.Resources != nil {
		over(e.Sidecar.Resources.Limits)
	}
	if own != nil {
		over(own.Limits)
	}
}
