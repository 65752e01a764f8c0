package profile

// units of Memory.Unit in bytes.
var units = map[string]int64{
	"":   1,
	"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40,
	"k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
}

// Factor returns how many bytes one Unit is. ok is false when the unit is none that Validate accepts.
func (m Memory) Factor() (bytes int64, ok bool) {
	bytes, ok = units[m.Unit]
	return bytes, ok
}
