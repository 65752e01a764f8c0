package claim

import (
	"regexp"
	"strings"
)

// productTest returns what must hold of the product name, as a test for key.holds; ok is false when every product is
// right. Nothing of the pattern gets into the expression unquoted.
func productTest(pattern string) (test string, ok bool) {
	if pattern == "" || strings.Trim(pattern, "*") == "" {
		return "", false
	}
	parts := strings.Split(pattern, "*")
	first, last := parts[0], parts[len(parts)-1]
	switch {
	case len(parts) == 1:
		return " == " + quote(pattern), true
	case len(parts) == 2 && last == "":
		return ".startsWith(" + quote(first) + ")", true
	case len(parts) == 2 && first == "":
		return ".endsWith(" + quote(last) + ")", true
	case len(parts) == 3 && first == "" && last == "":
		return ".contains(" + quote(parts[1]) + ")", true
	}
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return ".matches(" + quote("(?s)^"+strings.Join(parts, ".*")+"$") + ")", true
}

// productMatches says the same of a product name that productTest's expression says of a device.
func productMatches(pattern, product string) bool {
	if pattern == "" {
		return true
	}
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == product
	}
	first, last := parts[0], parts[len(parts)-1]
	if !strings.HasPrefix(product, first) {
		return false
	}
	rest := product[len(first):]
	// The earliest place for each part in between leaves most for the parts after it.
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, last)
}
