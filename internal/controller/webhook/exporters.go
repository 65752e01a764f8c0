package webhook

import (
	"fmt"
	"math"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

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
		Drivers: map[string]sidecar.Driver{}, Classes: map[string]string{},
	}
	if e.Mode == "Sidecar" {
		out.Namespaces = e.Sidecar.Namespaces
	}
	for _, d := range profiles.All() {
		out.Drivers[d.Name] = sidecar.Driver{DriverNames: d.DriverNames(), Exporter: exporterOf(d, c.Sidecar.ExporterImages[d.Name], out.Interval)}
		for _, class := range d.Classes {
			out.Classes[class.Name] = d.Name
		}
	}
	for _, class := range c.Settings.DeviceClasses.Extra {
		if _, known := out.Drivers[class.Driver]; known {
			out.Classes[class.Name] = class.Driver
		}
	}
	return out
}

// exporterOf a driver as a sidecar; nil when its profile has none, or has it without a command.
func exporterOf(d *profile.Driver, image string, interval time.Duration) *sidecar.Exporter {
	e := d.Exporter
	if e == nil || e.Sidecar == nil || len(e.Command) == 0 || image == "" {
		return nil
	}
	fill := strings.NewReplacer("{interval}", interval.String(), "{intervalMs}", fmt.Sprint(interval.Milliseconds()),
		"{intervalSeconds}", fmt.Sprint(int64(math.Ceil(interval.Seconds()))))
	out := &sidecar.Exporter{Image: image, Port: e.Port, Path: e.Path(), Limits: usualLimits}
	for _, a := range e.Command {
		out.Command = append(out.Command, fill.Replace(a))
	}
	for _, a := range e.Sidecar.Args {
		out.Args = append(out.Args, fill.Replace(a))
	}
	for _, v := range e.Sidecar.Env {
		// What a sidecar has differs by nothing that a condition could ask for.
		if v.When != nil {
			continue
		}
		variable := corev1.EnvVar{Name: v.Name, Value: fill.Replace(v.Value)}
		if v.Field != "" {
			variable = corev1.EnvVar{Name: v.Name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: v.Field}}}
		}
		out.Env = append(out.Env, variable)
	}
	if r := e.Sidecar.Resources; r != nil && len(r.Limits) > 0 {
		out.Limits = r.Limits
	}
	return out
}
