package webhook

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/profile"
	"github.com/gpu-dra/gpu-dra/internal/settings"
	"github.com/gpu-dra/gpu-dra/internal/sidecar"
)

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
	// the last one, which shows the engine's end, has to be that much later.
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
	out := &sidecar.Exporter{Image: image, Collect: collect, Port: e.Port, Path: e.Path(), Files: map[string]string{}}
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
