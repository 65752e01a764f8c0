package sidecar

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// labelValue makes the value of a label of names of objects: joined by "_", which no name holds. What is too long is cut and
// gets a hash of the whole, so that two names stay two values.
func labelValue(names []string) string {
	whole := strings.Join(names, "_")
	if len(whole) <= validation.LabelValueMaxLength {
		return whole
	}
	hash := sha256.Sum256([]byte(whole))
	end := "-" + hex.EncodeToString(hash[:5])
	return strings.TrimRight(whole[:validation.LabelValueMaxLength-len(end)], "-._") + end
}
