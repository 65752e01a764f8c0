package profile

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

var (
	imageRepository = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*(:[0-9]+)?(/[a-zA-Z0-9][a-zA-Z0-9._-]*)*$`)
	imageTag        = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$`)
	tagVersion      = regexp.MustCompile(`^v?[0-9]+\.[0-9]+(\.[0-9]+)?([-+].*)?$`)
	kubernetesMinor = regexp.MustCompile(`^1\.[0-9]+$`)
)

// plugin checks what the chart makes a DaemonSet of. What the API server would refuse stops the whole release, so it is said
// here.
func (c *checker) plugin(d *Driver) {
	p := d.Plugin
	if p == nil {
		return
	}
	if c.image("plugin.image.", p.Image) && comparesVersions(d) && !tagVersion.MatchString(p.Image.Tag) {
		c.wrong("plugin.image.tag", p.Image.Tag, "the version of the driver, since the profile says `since`")
	}
	if r := p.KubeletRoot; r != "" && (!strings.HasPrefix(r, "/") || !plainPath(r) || strings.Contains(r, "{")) {
		c.wrong("plugin.kubeletRoot", r, "an absolute path without tokens")
	}
	c.logLevels(p)
	c.tolerations("plugin.", p.Tolerations)
	for i, w := range p.WaitFor {
		c.wait(fmt.Sprintf("plugin.waitFor[%d].", i), w)
	}
	c.containers(d)
	for i, r := range p.Rules {
		c.rule(fmt.Sprintf("plugin.rules[%d].", i), r)
	}
	for i, r := range p.NamespaceRules {
		c.rule(fmt.Sprintf("plugin.namespaceRules[%d].", i), r)
	}
	for i, u := range p.Unverified {
		if strings.TrimSpace(u) == "" {
			c.wrong(fmt.Sprintf("plugin.unverified[%d]", i), u, "what is not known for sure, in a few words")
		}
	}
}

func (c *checker) logLevels(p *Plugin) {
	l := p.LogLevels
	if l == nil {
		return
	}
	found := phrase(fmt.Sprintf("%d to %d", l.Min, l.Max))
	if l.Min < 0 || l.Max > MaxLogLevel || l.Min > l.Max {
		c.wrong("plugin.logLevels", found, fmt.Sprintf("a range within 0 to %d, its lower end first", MaxLogLevel))
	}
	if !p.TakesLogLevel() {
		c.wrong("plugin.logLevels", found, "none: no container has {logLevel} in its env or args")
	}
}

// image reports whether the tag is one.
func (c *checker) image(field string, i PluginImage) bool {
	if !imageRepository.MatchString(i.Repository) {
		c.wrong(field+"repository", i.Repository, "a repository with its registry host, without a tag")
	}
	ok := imageTag.MatchString(i.Tag)
	if !ok {
		c.wrong(field+"tag", i.Tag, "a tag")
	}
	return ok
}

// comparesVersions: something in the profile depends on the version of the driver, which is that of the image.
func comparesVersions(d *Driver) bool {
	if slices.ContainsFunc(d.Gates, func(g Gate) bool { return g.Since != "" }) {
		return true
	}
	found := false
	d.Plugin.eachWhen(func(_ string, w *When) { found = found || w.Since != "" })
	return found
}

// eachWhen calls f for every condition of the plugin with the field that it is for.
func (p *Plugin) eachWhen(f func(field string, w *When)) {
	call := func(w *When, format string, args ...any) {
		if w != nil {
			f(fmt.Sprintf(format, args...), w)
		}
	}
	for i, c := range p.Containers {
		call(c.When, "plugin.containers[%d].when", i)
		for j, e := range c.Env {
			call(e.When, "plugin.containers[%d].env[%d].when", i, j)
		}
		for j, m := range c.Mounts {
			call(m.When, "plugin.containers[%d].mounts[%d].when", i, j)
		}
	}
	for i, r := range p.Rules {
		call(r.When, "plugin.rules[%d].when", i)
	}
	for i, r := range p.NamespaceRules {
		call(r.When, "plugin.namespaceRules[%d].when", i)
	}
}

func (c *checker) whens(d *Driver) {
	gates := newGateGraph(d.Gates).byName
	d.Plugin.eachWhen(func(field string, w *When) {
		if w.Profiling || w.AdminClaim {
			c.wrong(field, phrase("profiling or adminClaim"), "neither: they are for parts of an exporter")
		}
		if *w == (When{}) {
			c.wrong(field, phrase("nothing"), "at least one of gate, computeDomains, since, kubernetesSince")
		}
		if _, known := gates[w.Gate]; w.Gate != "" && !known {
			c.wrong(field+".gate", w.Gate, "a gate that the profile lists in gates")
		}
		c.since(field+".since", w.Since)
		if w.KubernetesSince != "" && !kubernetesMinor.MatchString(w.KubernetesSince) {
			c.wrong(field+".kubernetesSince", w.KubernetesSince, "a minor version of Kubernetes such as 1.36")
		}
	})
}

// tolerations checks what the API server does (ValidateTolerations of k8s.io/kubernetes).
func (c *checker) tolerations(at string, list []corev1.Toleration) {
	for i, t := range list {
		field := fmt.Sprintf("%stolerations[%d].", at, i)
		oneOf(c, field+"operator", t.Operator, "", corev1.TolerationOpExists, corev1.TolerationOpEqual)
		oneOf(c, field+"effect", t.Effect, "", corev1.TaintEffectNoSchedule, corev1.TaintEffectPreferNoSchedule, corev1.TaintEffectNoExecute)
		switch {
		case t.Key == "" && t.Operator != corev1.TolerationOpExists:
			c.wrong(field+"key", "", "the key of a taint; only the operator Exists goes without")
		case t.Key != "" && len(validation.IsQualifiedName(t.Key)) > 0:
			c.wrong(field+"key", t.Key, "the key of a taint: a name of at most 63 characters, with or without domain/ before it")
		}
		switch {
		case t.Value != "" && t.Operator == corev1.TolerationOpExists:
			c.wrong(field+"value", t.Value, "none with the operator Exists")
		case len(validation.IsValidLabelValue(t.Value)) > 0:
			c.wrong(field+"value", t.Value, "the value of a taint: at most 63 letters, digits, dashes, dots and underscores")
		}
		if t.TolerationSeconds != nil && t.Effect != corev1.TaintEffectNoExecute {
			c.wrong(field+"tolerationSeconds", *t.TolerationSeconds, "none without the effect NoExecute")
		}
	}
}

func (c *checker) wait(field string, w Wait) {
	if w.What == "" || strings.ContainsAny(w.What, "=\n") {
		c.wrong(field+"what", w.What, "what is awaited, in a few words without =")
	}
	c.path(field+"hostPath", w.HostPath)
	if len(w.AnyOf) == 0 {
		c.wrong(field+"anyOf", phrase("none"), "at least one path below hostPath")
	}
	for i, p := range w.AnyOf {
		at := fmt.Sprintf("%sanyOf[%d]", field, i)
		if p == "" || strings.HasPrefix(p, "/") || !plainPath(p) {
			c.wrong(at, p, "a path below hostPath, without a slash at its start, without .. and without , : =")
		}
		c.tokens(at, p, []string{"{driverRootName}"})
	}
}
