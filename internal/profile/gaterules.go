package profile

// GateRules say how Kubernetes feature gates are set on a distribution that writes the flags of its components itself.
type GateRules struct {
	// Setting is where a user names gates to be switched on; empty where users write the flags.
	Setting string `json:"setting,omitempty"`
	// Settable are the gates that the setting takes; others it ignores.
	Settable []SettableGate `json:"settable,omitempty"`
	// Fixed are gates that the distribution switches on by itself.
	Fixed []FixedGate `json:"fixed,omitempty"`
	// FixedAPIs are entries of --runtime-config that it writes by itself.
	FixedAPIs []FixedAPI `json:"fixedAPIs,omitempty"`
	// KubeletHint says how a gate reaches kubelets where the setting does not help.
	KubeletHint string `json:"kubeletHint,omitempty"`
}

// Minors is a range of Kubernetes minors.
type Minors struct {
	// From and To are minors (34 for 1.34); 0 is no bound.
	From int `json:"from,omitempty"`
	To   int `json:"to,omitempty"`
}

// Holds says whether a minor is in the range.
func (m Minors) Holds(minor int) bool { return minor >= m.From && (m.To == 0 || minor <= m.To) }

// SettableGate is a gate that the distribution's setting takes in some minors.
type SettableGate struct {
	Gate   string `json:"gate"`
	Minors `json:",inline"`
}

// FixedGate is a gate that the distribution sets to true in some minors.
type FixedGate struct {
	Gate string `json:"gate"`
	// Components whose flags or configuration it stands in.
	Components []string `json:"components"`
	Minors     `json:",inline"`
	// When it does so only under a condition, in words.
	When string `json:"when,omitempty"`
}

// FixedAPI is an API version that the distribution switches on in some minors.
type FixedAPI struct {
	GroupVersion string `json:"groupVersion"`
	Minors       `json:",inline"`
}
