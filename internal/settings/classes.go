package settings

import "k8s.io/apimachinery/pkg/runtime"

// DeviceClasses configures DeviceClasses.
type DeviceClasses struct {
	// Create: Auto, Always or Never.
	Create string `json:"create,omitempty"`
	// ExtendedResources: Auto, Always or Never.
	ExtendedResources string `json:"extendedResources,omitempty"`
	// Classes holds the same two choices for single classes, by name.
	Classes map[string]ClassChoice `json:"classes,omitempty"`
	// Extra classes of the user's own.
	Extra []ExtraClass `json:"extra,omitempty"`
}

// ClassChoice overrides DeviceClasses for one class; empty fields do not.
type ClassChoice struct {
	Create            string `json:"create,omitempty"`
	ExtendedResources string `json:"extendedResources,omitempty"`
}

// ExtraClass is a DeviceClass of the user's own.
type ExtraClass struct {
	Name string `json:"name"`
	// Selectors are CEL expressions, all of which must hold.
	Selectors            []string `json:"selectors"`
	ExtendedResourceName string   `json:"extendedResourceName,omitempty"`
	// Driver is the profile whose devices the class selects; it decides extendedResources Auto.
	Driver string        `json:"driver,omitempty"`
	Config []ClassConfig `json:"config,omitempty"`
}

// ClassConfig is opaque configuration for a DRA driver.
type ClassConfig struct {
	// Driver is a DRA driver's name.
	Driver string `json:"driver"`
	// Parameters as the driver defines them: a JSON object.
	Parameters runtime.RawExtension `json:"parameters"`
}
