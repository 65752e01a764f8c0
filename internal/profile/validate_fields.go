package profile

import (
	"fmt"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/selector"
)

func (c *checker) attributes(d *Driver) {
	c.qualified("typeAttribute", d.TypeAttribute)
	c.qualified("parentAttribute", d.ParentAttribute)
	c.qualified("identityAttribute", d.IdentityAttribute)
	c.qualified("addressAttribute", d.AddressAttribute)
	c.qualified("productAttribute", d.ProductAttribute)
	c.qualified("partitionAttribute", d.PartitionAttribute)
}

// qualified checks the name of an attribute or a capacity: an identifier, or a domain, a slash and an identifier. Empty
// is right: not published.
func (c *checker) qualified(field, name string) {
	if name == "" {
		return
	}
	id := name
	if domain, rest, ok := strings.Cut(name, "/"); ok {
		id = rest
		if len(domain) > resourcev1.DeviceMaxDomainLength || len(validation.IsDNS1123Subdomain(domain)) > 0 {
			c.wrong(field, name, "a DNS subdomain of at most 63 characters before the slash")
		}
	}
	if len(id) > resourcev1.DeviceMaxIDLength || len(validation.IsCIdentifier(id)) > 0 {
		c.wrong(field, name, "an identifier of at most 32 letters, digits and underscores, with or without domain/ before it")
	}
}

func (c *checker) topology(t map[v1alpha1.SameAttribute]string) {
	for _, key := range sortedKeys(t) {
		field := fmt.Sprintf("topology[%s]", key)
		oneOf(c, field, key, v1alpha1.SamePCIeRoot, v1alpha1.SameNUMANode)
		if name := t[key]; strings.Contains(name, "/") {
			c.qualified(field, name)
		} else {
			// matchAttribute takes fully qualified names only.
			c.wrong(field, name, "an attribute name with its domain")
		}
	}
}

func (c *checker) classes(classes []Class) {
	names, choices := map[string]bool{}, map[v1alpha1.DeviceChoice]bool{}
	for i, class := range classes {
		field := fmt.Sprintf("classes[%d].", i)
		if len(validation.IsDNS1123Subdomain(class.Name)) > 0 {
			c.wrong(field+"name", class.Name, "a DNS subdomain")
		}
		if names[class.Name] {
			c.wrong(field+"name", class.Name, "a name that no other class of the profile has")
		}
		names[class.Name] = true
		if class.Choice != "" {
			oneOf(c, field+"choice", class.Choice, v1alpha1.ChoiceAny, v1alpha1.ChoiceWhole, v1alpha1.ChoicePartition, v1alpha1.ChoicePassthrough)
			if choices[class.Choice] {
				c.wrong(field+"choice", string(class.Choice), "one class for each choice")
			}
			choices[class.Choice] = true
		}
		if class.Expression == "" || len(class.Expression) > resourcev1.CELSelectorExpressionMaxLength {
			c.wrong(field+"expression", phrase(fmt.Sprintf("%d characters", len(class.Expression))), "a CEL expression of 1 to 10240 characters")
		} else if err := selector.Check(class.Expression); err != nil {
			c.errs = append(c.errs, fmt.Errorf("%sexpression: %w", field, err))
		}
		if n := class.ExtendedResourceName; n != "" && (!strings.Contains(n, "/") || !isResource(n) || strings.Contains(n, "kubernetes.io/")) {
			c.wrong(field+"extendedResourceName", n, "a domain, a slash and a name, and no domain of Kubernetes' own")
		}
	}
}

func (c *checker) sharing(s *Sharing) {
	if s == nil {
		return
	}
	if group, version, ok := strings.Cut(s.APIVersion, "/"); !ok || group == "" || version == "" {
		c.wrong("sharing.apiVersion", s.APIVersion, "group/version of the opaque parameters")
	}
	for _, k := range sortedKeys(s.Kinds) {
		c.kind(fmt.Sprintf("sharing.kinds[%s]", k), k)
		if s.Kinds[k] == "" {
			c.wrong(fmt.Sprintf("sharing.kinds[%s]", k), "", "the kind of the opaque parameters")
		}
	}
	for _, name := range sortedKeys(s.Strategies) {
		field := fmt.Sprintf("sharing.strategies[%s]", name)
		oneOf(c, field, name, "TimeSlicing", "MPS")
		strategy := s.Strategies[name]
		if len(strategy.Kinds) == 0 {
			c.wrong(field+".kinds", phrase("none"), "the kinds of devices that have this strategy")
		}
		for i, k := range strategy.Kinds {
			if _, ok := s.Kinds[k]; !ok {
				c.wrong(fmt.Sprintf("%s.kinds[%d]", field, i), string(k), "a kind that sharing.kinds has parameters for")
			}
		}
		for _, p := range sortedKeys(strategy.Params) {
			oneOf(c, fmt.Sprintf("%s.params[%s]", field, p), p, "strategy", "interval", "activeThreadPercentage", "pinnedMemoryLimit")
			if !strings.HasPrefix(strategy.Params[p], "/") {
				c.wrong(fmt.Sprintf("%s.params[%s]", field, p), strategy.Params[p], "a JSON pointer, which starts with a slash")
			}
		}
	}
}

func (c *checker) managers(d *Driver) {
	for i, r := range d.PluginResources {
		name := strings.TrimSuffix(r, "*")
		if strings.Contains(name, "*") || !strings.Contains(name, "/") {
			c.wrong(fmt.Sprintf("pluginResources[%d]", i), r, "domain/name of an extended resource, or such a prefix with one * at its end")
		}
	}
	for i, m := range d.Managers {
		field := fmt.Sprintf("managers[%d]", i)
		if m.Name == "" {
			c.wrong(field+".name", "", "the name of the manager")
		}
		traces := 0
		for _, t := range []string{m.NodeLabel, m.API, m.Namespace, m.NodeGroupField} {
			if t != "" {
				traces++
			}
		}
		if traces != 1 {
			c.wrong(field, phrase(fmt.Sprintf("%d traces", traces)), "exactly one of nodeLabel, api, namespace, nodeGroupField")
		}
		if len(m.NodeLabelValues) > 0 && m.NodeLabel == "" {
			c.wrong(field+".nodeLabelValues", m.NodeLabelValues, "none without nodeLabel")
		}
		if m.API != "" && strings.Count(m.API, "/") != 2 {
			c.wrong(field+".api", m.API, "group/version/Kind")
		}
	}
}
