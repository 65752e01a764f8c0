package profile

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

var (
	exporterVersion = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+$`)
	// tagVersions finds versions in a tag; of several the last is the exporter's own.
	tagVersions = regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+`)
	configFile  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`)
	metricName  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	wholeMi     = regexp.MustCompile(`^(0|[1-9][0-9]{0,6})Mi$`)
	// urlPath has no empty element and none that begins with a dot: net/http panics at some of those.
	urlPath = regexp.MustCompile(`^/$|^(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+/?$`)
)

// ownVolumes are names of volumes that the chart gives the exporter's pod.
const ownVolumes = "gpu-dra-"

// exporter checks what the chart makes a DaemonSet of, as plugin does.
func (c *checker) exporter(d *Driver) {
	e := d.Exporter
	if e == nil {
		return
	}
	if c.image("exporter.image.", e.Image) && e.MinVersion != "" && !tagVersions.MatchString(e.Image.Tag) {
		c.wrong("exporter.image.tag", e.Image.Tag, "a tag with a version x.y.z in it, since the profile says minVersion")
	}
	if e.MinVersion != "" && !exporterVersion.MatchString(e.MinVersion) {
		c.wrong("exporter.minVersion", e.MinVersion, "a version such as 4.8.3")
	}
	ports := map[int32]bool{}
	if e.Port == 0 {
		c.wrong("exporter.port", e.Port, "the port of the metrics, from 1 to 65535")
	}
	c.port("exporter.port", e.Port, ports)
	c.url("exporter.path", e.Path())
	if h := e.Health; h != nil {
		c.url("exporter.health.path", h.Path)
		c.port("exporter.health.port", h.Port, ports)
	}
	c.command("exporter.", e.Command, exporterTokens)
	for i, text := range e.Args {
		c.tokens(fmt.Sprintf("exporter.args[%d]", i), text, exporterTokens)
	}
	c.env("exporter.", e.Env, exporterTokens)
	c.exporterSecurity(e)
	c.exporterMounts(e)
	for i, w := range e.WaitFor {
		c.wait(fmt.Sprintf("exporter.waitFor[%d].", i), w)
	}
	c.tolerations("exporter.", e.Tolerations)
	c.adminClaim(d)
	for i, r := range e.Rules {
		c.rule(fmt.Sprintf("exporter.rules[%d].", i), r)
	}
	e.eachWhen(c.exporterWhen)
	c.exporterConfig(e.Config)
	c.exporterMetrics(e.Metrics)
	c.exporterMemory(e)
	c.metricNames(e.MetricNames)
	c.sidecar(e)
	for i, u := range e.Unverified {
		if strings.TrimSpace(u) == "" {
			c.wrong(fmt.Sprintf("exporter.unverified[%d]", i), u, "what is not known for sure, in a few words")
		}
	}
}

func (c *checker) url(field, path string) {
	if !urlPath.MatchString(path) {
		c.wrong(field, path, "a path of a URL, which starts with a slash, without empty elements and without those that begin with a dot")
	}
}

func (c *checker) exporterSecurity(e *Exporter) {
	if e.RunAsUser < 0 || e.RunAsUser > math.MaxInt32 {
		c.wrong("exporter.runAsUser", e.RunAsUser, "the number of a user, at most 2147483647, or 0 for root")
	}
	if e.Privileged != "" && len(e.Capabilities) > 0 {
		c.wrong("exporter.capabilities", phrase(fmt.Sprint(len(e.Capabilities))), "none in a privileged container, which has all of them")
	}
	for i, x := range e.Capabilities {
		field := fmt.Sprintf("exporter.capabilities[%d].", i)
		c.capability(field+"name", x.Name)
		if strings.TrimSpace(x.Reason) == "" {
			c.wrong(field+"reason", x.Reason, "why it is needed, in a few words")
		}
	}
}

// exporterMounts checks mounts as those of a plugin's container; the chart has volumes of its own besides.
func (c *checker) exporterMounts(e *Exporter) {
	var taken []string
	if e.Config != nil {
		taken = append(taken, e.Config.Path)
	}
	c.mounts("exporter.", Container{Mounts: e.Mounts, Privileged: e.Privileged}, map[string]Mount{}, taken...)
	for i, m := range e.Mounts {
		if strings.HasPrefix(m.Name, ownVolumes) {
			c.wrong(fmt.Sprintf("exporter.mounts[%d].name", i), m.Name, "a name that does not begin with "+ownVolumes+", which volumes of the chart have")
		}
	}
}

// adminClaim: of a class that nobody makes the pods would wait for ever.
func (c *checker) adminClaim(d *Driver) {
	a := d.Exporter.AdminClaim
	if a == nil {
		return
	}
	known := func(name string) bool {
		return slices.ContainsFunc(d.Classes, func(x Class) bool { return x.Name == name })
	}
	if !known(a.Class) {
		c.wrong("exporter.adminClaim.class", a.Class, "one of the profile's classes")
	}
	if a.StaticClass != "" && !known(a.StaticClass) {
		c.wrong("exporter.adminClaim.staticClass", a.StaticClass, "one of the profile's classes")
	}
}

// eachWhen calls f for every condition of the exporter with the field that it is for.
func (e *Exporter) eachWhen(f func(field string, e *Exporter, w *When)) {
	call := func(w *When, format string, i int) {
		if w != nil {
			f(fmt.Sprintf(format, i), e, w)
		}
	}
	for i, x := range e.Env {
		call(x.When, "exporter.env[%d].when", i)
	}
	for i, x := range e.Capabilities {
		call(x.When, "exporter.capabilities[%d].when", i)
	}
	for i, x := range e.Mounts {
		call(x.When, "exporter.mounts[%d].when", i)
	}
	for i, x := range e.Rules {
		call(x.When, "exporter.rules[%d].when", i)
	}
}

func (c *checker) exporterWhen(field string, e *Exporter, w *When) {
	if w.Gate != "" || w.ComputeDomains || w.Since != "" {
		c.wrong(field, phrase("gate, computeDomains or since"), "none of them: they are for parts of a plugin")
	}
	if *w == (When{}) {
		c.wrong(field, phrase("nothing"), "at least one of profiling, adminClaim, kubernetesSince")
	}
	if w.AdminClaim && e.AdminClaim == nil {
		c.wrong(field+".adminClaim", true, "none without exporter.adminClaim")
	}
	if w.KubernetesSince != "" && !kubernetesMinor.MatchString(w.KubernetesSince) {
		c.wrong(field+".kubernetesSince", w.KubernetesSince, "a minor version of Kubernetes such as 1.36")
	}
}

func (c *checker) exporterConfig(config *ExporterConfig) {
	if config == nil {
		return
	}
	if p := config.Path; !strings.HasPrefix(p, "/") || p == "/" || !plainPath(p) || strings.Contains(p, "{") {
		c.wrong("exporter.config.path", p, "an absolute path of a folder, without tokens")
	}
	if len(config.Files) == 0 {
		c.wrong("exporter.config.files", phrase("none"), "at least one file")
	}
	for _, name := range sortedKeys(config.Files) {
		field := fmt.Sprintf("exporter.config.files[%s]", name)
		if !configFile.MatchString(name) {
			c.wrong(field, name, "the name of a file: at most 63 letters, digits, dots, dashes and underscores")
		}
		c.tokens(field, config.Files[name], configTokens)
	}
}

func (c *checker) exporterMetrics(m ExporterMetrics) {
	seen := map[string]bool{}
	for _, list := range []struct {
		field    string
		counters []Counter
	}{{"default", m.Default}, {"profiling", m.Profiling}, {"optional", m.Optional}} {
		for i, x := range list.counters {
			field := fmt.Sprintf("exporter.metrics.%s[%d].", list.field, i)
			if !metricName.MatchString(x.Name) || seen[x.Name] {
				c.wrong(field+"name", x.Name, "a metric's name that the profile does not already have")
			}
			seen[x.Name] = true
			oneOf(c, field+"type", x.Type, "gauge", "counter", "histogram", "summary", "label")
			if x.Help == "" || strings.ContainsAny(x.Help, "\"\r\n") {
				c.wrong(field+"help", x.Help, "what it is, in one line without quotation marks")
			}
		}
	}
	for _, list := range []struct {
		field    string
		prefixes []string
	}{{"prefixes", m.Prefixes}, {"profilingPrefixes", m.ProfilingPrefixes}} {
		for i, p := range list.prefixes {
			if !metricName.MatchString(p) {
				c.wrong(fmt.Sprintf("exporter.metrics.%s[%d]", list.field, i), p, "how names of metrics begin")
			}
		}
	}
}

func (c *checker) exporterMemory(e *Exporter) {
	c.resources("exporter.resources.", e.Resources)
	m := e.Memory
	if m == nil {
		return
	}
	if !wholeMi.MatchString(m.Base) || m.Base == "0Mi" {
		c.wrong("exporter.memory.base", m.Base, "a number of Mi such as 512Mi")
	}
	if !wholeMi.MatchString(m.PerDevice) {
		c.wrong("exporter.memory.perDevice", m.PerDevice, "a number of Mi such as 64Mi")
	}
	if m.GoPercent < 0 || m.GoPercent > 100 {
		c.wrong("exporter.memory.goPercent", m.GoPercent, "a percentage, or 0 for none")
	}
	if e.Resources != nil {
		if limit, ok := e.Resources.Limits["memory"]; ok {
			c.wrong("exporter.resources.limits[memory]", limit.String(), "none with exporter.memory, which makes it")
		}
		// On a node without a device the limit is the base.
		if base, err := resource.ParseQuantity(m.Base); err == nil {
			if request, ok := e.Resources.Requests["memory"]; ok && request.Cmp(base) > 0 {
				c.wrong("exporter.resources.requests[memory]", request.String(), "at most exporter.memory.base, which is "+m.Base)
			}
		}
	}
}

func (c *checker) sidecar(e *Exporter) {
	s := e.Sidecar
	if s == nil {
		return
	}
	if len(e.Command) == 0 {
		c.wrong("exporter.command", phrase("none"), "the exporter's program, which a sidecar's entry starts")
	}
	for i, text := range s.Args {
		c.tokens(fmt.Sprintf("exporter.sidecar.args[%d]", i), text, sidecarTokens)
	}
	env := make([]Env, len(s.Env))
	for i, v := range s.Env {
		env[i] = Env{Name: v.Name, Value: v.Value, Field: v.Field}
	}
	c.env("exporter.sidecar.", env, sidecarTokens)
	c.sidecarResources(s.Resources)
}

// sidecarResources: what requests less than it is limited to, or is not limited, would take a pod out of the class Guaranteed.
func (c *checker) sidecarResources(r *ContainerResources) {
	const at = "exporter.sidecar.resources."
	c.resources(at, r)
	if r == nil {
		return
	}
	for _, name := range sortedKeys(r.Limits) {
		if limit := r.Limits[name]; limit.IsZero() && (name == corev1.ResourceCPU || name == corev1.ResourceMemory) {
			c.wrong(fmt.Sprintf("%slimits[%s]", at, name), limit.String(), "an amount above 0")
		}
	}
	for _, name := range sortedKeys(r.Requests) {
		request := r.Requests[name]
		if limit, ok := r.Limits[name]; !ok || request.Cmp(limit) < 0 {
			c.wrong(fmt.Sprintf("%srequests[%s]", at, name), request.String(), "the amount that stands in limits, or none")
		}
	}
}
