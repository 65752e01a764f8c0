package profile

import (
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation"
)

var (
	// ruleResource may have a subresource.
	ruleResource = regexp.MustCompile(`^[a-z0-9.-]+(/[a-z0-9.-]+)?$`)
	// ruleVerb: `associated-node:update` is one.
	ruleVerb = regexp.MustCompile(`^[a-z]+([:-][a-z]+)*$`)
)

// rule checks a rule of RBAC. A star is none of the words that these patterns allow: a driver gets what it uses, by name.
func (c *checker) rule(field string, r Rule) {
	const noStar = ", by name: a wildcard is not accepted"
	c.words(field+"apiGroups", r.APIGroups, "the API group"+noStar, func(s string) bool { return s == "" || len(validation.IsDNS1123Subdomain(s)) == 0 })
	c.words(field+"resources", r.Resources, "the plural of a resource"+noStar, ruleResource.MatchString)
	c.words(field+"verbs", r.Verbs, "a verb"+noStar, ruleVerb.MatchString)
	for i, name := range r.ResourceNames {
		if name == "" || name == "*" {
			c.wrong(fmt.Sprintf("%sresourceNames[%d]", field, i), name, "the name of an object"+noStar)
		}
	}
}

func (c *checker) words(field string, list []string, expected string, ok func(string) bool) {
	if len(list) == 0 {
		c.wrong(field, phrase("none"), "at least one")
	}
	for i, s := range list {
		if !ok(s) {
			c.wrong(fmt.Sprintf("%s[%d]", field, i), s, expected)
		}
	}
}
