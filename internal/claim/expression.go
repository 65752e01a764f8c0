package claim

import (
	"regexp"
	"strconv"
	"strings"
)

// key is one attribute or capacity of a device in a CEL expression.
type key struct {
	// source is `device.attributes["<domain>"]` or `device.capacity["<domain>"]`.
	source string
	// variable stands for source inside cel.bind.
	variable string
	// id within the domain.
	id string
}

// attributeKey and capacityKey take names as profiles write them: an identifier in the driver's own domain, or
// domain/identifier.
func attributeKey(driver, name string) key { return newKey("device.attributes", "a", driver, name) }
func capacityKey(driver, name string) key  { return newKey("device.capacity", "c", driver, name) }

func newKey(source, variable, driver, name string) key {
	domain, id, qualified := strings.Cut(name, "/")
	if !qualified {
		domain, id = driver, name
	}
	return key{source: source + "[" + quote(domain) + "]", variable: variable, id: id}
}

var plainID = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// celWords cannot stand after a dot: they are tokens of their own or may become ones.
var celWords = map[string]bool{
	"true": true, "false": true, "null": true, "in": true, "as": true, "break": true, "const": true, "continue": true,
	"else": true, "for": true, "function": true, "if": true, "import": true, "let": true, "loop": true, "package": true,
	"namespace": true, "return": true, "var": true, "void": true, "while": true,
}

// of is the value of the key in a map expression.
func (k key) of(m string) string {
	if plainID.MatchString(k.id) && !celWords[k.id] {
		return m + "." + k.id
	}
	return m + "[" + quote(k.id) + "]"
}

// present says that a map expression has the key.
func (k key) present(m string) string {
	if plainID.MatchString(k.id) && !celWords[k.id] {
		return "has(" + m + "." + k.id + ")"
	}
	return quote(k.id) + " in " + m
}

// holds returns an expression that is true when all tests of the key's value hold. A test is what follows the value
// (` == "x"`, `.matches("y")`). Guarded, the expression is false on a device without the key; unguarded, such a device
// is a runtime error, which stops the pod on every node (https://github.com/kubernetes/kubernetes/issues/125826).
//
// Both forms compile on Kubernetes 1.34. A guard of the value's type does not: `type(x) == string` has no cost estimate
// there and is refused as too complex.
func (k key) holds(guarded bool, tests ...string) string {
	if !guarded && len(tests) == 1 {
		return k.of(k.source) + tests[0]
	}
	var terms []string
	if guarded {
		terms = append(terms, k.present(k.variable))
	}
	for _, t := range tests {
		terms = append(terms, k.of(k.variable)+t)
	}
	return "cel.bind(" + k.variable + ", " + k.source + ",\n  " + strings.Join(terms, " && ") + ")"
}

// quote returns a CEL string literal. Go's escapes are a subset of CEL's, as long as the text is valid UTF-8: then \x
// stands for a control character only, which means the same in both languages.
func quote(s string) string { return strconv.Quote(strings.ToValidUTF8(s, "\uFFFD")) }
