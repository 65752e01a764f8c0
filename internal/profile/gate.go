package profile

// Gate is a feature gate of the driver itself.
type Gate struct {
	// Name as the driver's own flag takes it.
	Name string `json:"name"`
	// Since is the first version of the driver that knows the gate; an older one does not start with it.
	Since string `json:"since,omitempty"`
	// Default of the driver.
	Default bool `json:"default,omitempty"`
	// Excludes are gates of the driver that cannot be on together with it. Said once, by either of the two.
	Excludes []string `json:"excludes,omitempty"`
	// Requires are gates of the driver that have to be on with it.
	Requires []string `json:"requires,omitempty"`
	// Partitioning of a node group that switches it on.
	Partitioning string `json:"partitioning,omitempty"`
	// Passthrough: `passthrough: true` of a node group switches it on.
	Passthrough bool `json:"passthrough,omitempty"`
}
