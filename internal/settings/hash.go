package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Hash of the settings as 32 hexadecimal digits: the same for the same meaning, however the defaults got there. GPUStack
// carries it, so that hooks know which settings the controller runs with. Settings that were not parsed (no defaults) hash
// differently from those that were.
func Hash(s *Settings) string {
	// Struct fields have a fixed order and maps are sorted, so the JSON is canonical; quantities and durations print in
	// their canonical form. Nothing in the type can fail to marshal.
	data, err := json.Marshal(s)
	if err != nil {
		panic("settings: " + err.Error())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:16])
}
