package webhook

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/sidecar"
)

// usualLimits of an exporter whose profile says nothing.
var usualLimits = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi")}

// decisions makes the core's configuration of the controller's. The settings went through the schema, which fills the interval in.
func decisions(c *settings.ControllerConfig) sidecar.Config {
	profiles, _ := c.Profiles()
	e := c.Settings.Exporter
	out := sidecar.Config{
		Image: c.Sidecar.Image, PullSecrets: c.Sidecar.PullSecrets, Interval: e.Sidecar.Interval.Duration,
		Drivers: map[string]sidecar.Driver{}, Classes: map[string]string{}, Unshown: map[string]bool{},
	}
	if e.Mode == "Sidecar" {
		out.Namespaces = e.Sidecar.Namespaces
	}
	for _, d := range profiles.All() {
		driver := sidecar.Driver{Name: d.DriverName, Others: d.OtherDrivers}
		driver.Exporter, driver.Without = exporterOf(d, c, out.Interval)
		out.Drivers[d.Name] = driver
		for _, class := range d.Classes {
			if class.Choice == v1alpha1.ChoicePassthrough {
				out.Unshown[class.Name] = true
			} else {
				out.Classes[class.Name] = d.Name
			}
		}
	}
	for _, class := range c.Settings.DeviceClasses.Extra {
		if _, known := out.Drivers[class.Driver]; known {
			out.Classes[class.Name] = class.Driver
		}
	}
	return out
}

const (
	// freshest is how often exporters in sidecars collect at least: what they show may be one interval older than the scrape, and
	// the last one shall show the engine's end.
	freshest = time.Second
	// filesLimit in bytes: Linux takes no longer argument than 128 KiB, and the pod has to fit the API server, too.
	filesLimit = 64 << 10
)

// exporterOf a driver as a sidecar; nil when there is none, with the reason in words that follow the driver's name.
func exporterOf(d *profile.Driver, c *settings.ControllerConfig, interval time.Duration) (*sidecar.Exporter, string) {
	e := d.Exporter
	image := c.Sidecar.ExporterImages[d.Name]
	if e == nil || e.Sidecar == nil || len(e.Command) == 0 || image == "" {
		return nil, "has no exporter that works without rights on the node"
	}
	collect := min(interval, freshest)
	fill := strings.NewReplacer("{interval}", collect.String(), "{intervalMs}", fmt.Sprint(collect.Milliseconds()),
		"{intervalSeconds}", fmt.Sprint(int64(math.Ceil(collect.Seconds()))))
	out := &sidecar.Exporter{Image: image, Port: e.Port, Path: e.Path(), Files: map[string]string{}}
	for _, a := range e.Command {
		out.Command = append(out.Command, fill.Replace(a))
	}
	for _, a := range e.Sidecar.Args {
		out.Args = append(out.Args, fill.Replace(a))
	}
	size := 0
	for name, text := range c.Sidecar.ExporterFiles[d.Name] {
		out.Files[name] = fill.Replace(text)
		size += len(out.Files[name])
	}
	if size > filesLimit {
		return nil, fmt.Sprintf("has an exporter whose files (exporter.config and the metrics asked for) are %d bytes, and a pod takes %d", size, filesLimit)
	}
	var own settings.DriverExporter
	if o := c.Settings.Drivers[d.Name].Exporter; o != nil {
		own = *o
	}
	out.Env = environment(e.Sidecar.Env, own.ExtraEnv, fill)
	limits(out, e, own.Resources)
	return out, ""
}

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
