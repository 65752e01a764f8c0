package settings

import (
	"bytes"
	"encoding/json"
	"fmt"

	"sigs.k8s.io/yaml"

	"github.com/gpu-dra/gpu-dra/internal/profile"
)

// ControllerConfig is the file that the chart renders and mounts into the controller.
type ControllerConfig struct {
	// UnderHooks is true where addon-operator runs hooks: then they write GPUNodeGroup, not the controller.
	UnderHooks bool
	// Namespace of gpu-dra's own pods.
	Namespace string
	// Distribution profile that the chart chose.
	Distribution profile.Distribution
	// Settings with defaults filled in.
	Settings *Settings
	// Drivers are the profiles that the chart carries, by name, without the user's own, which stand in the settings.
	Drivers map[string]profile.Driver
	// Sidecar is what the admission webhook needs; nil: there is no webhook.
	Sidecar *SidecarConfig
}

// SidecarConfig is what the chart decides about the exporter as a sidecar.
type SidecarConfig struct {
	// Image of gpu-dra.
	Image string `json:"image"`
	// PullSecrets that the images need.
	PullSecrets []string `json:"pullSecrets,omitempty"`
	// ExporterImages by name of the driver profile.
	ExporterImages map[string]string `json:"exporterImages,omitempty"`
	// ExporterFiles are texts by name of the driver profile and of the file. Tokens of what differs in a pod are not filled in.
	ExporterFiles map[string]map[string]string `json:"exporterFiles,omitempty"`
	// Webhook object, its Service and the Secret with its certificate.
	Webhook WebhookConfig `json:"webhook"`
}

// WebhookConfig names the objects of the webhook.
type WebhookConfig struct {
	// Name of the MutatingWebhookConfiguration.
	Name string `json:"name"`
	// Service that the API server calls, and Secret with the certificate, both in the namespace of the controller.
	Service string `json:"service"`
	Secret  string `json:"secret"`
	// OwnCertificate: the controller makes and renews it; otherwise somebody else fills the Secret.
	OwnCertificate bool `json:"ownCertificate,omitempty"`
}

// controllerFile is how a ControllerConfig is written. Settings are parsed by themselves, so that they meet the schema.
type controllerFile struct {
	UnderHooks   bool                      `json:"underHooks"`
	Namespace    string                    `json:"namespace"`
	Distribution profile.Distribution      `json:"distribution"`
	Settings     json.RawMessage           `json:"settings"`
	Drivers      map[string]profile.Driver `json:"drivers"`
	Sidecar      *SidecarConfig            `json:"sidecar,omitempty"`
}

// ParseControllerConfig reads the controller's file. It refuses what it does not know; wrong settings are an *InvalidError.
func ParseControllerConfig(data []byte) (*ControllerConfig, error) {
	asJSON, err := yaml.YAMLToJSONStrict(data)
	if err != nil {
		return nil, fmt.Errorf("controller config: %w", err)
	}
	file := controllerFile{}
	decoder := json.NewDecoder(bytes.NewReader(asJSON))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&file); err != nil {
		return nil, fmt.Errorf("controller config: %w", err)
	}
	switch {
	case file.Namespace == "":
		return nil, fmt.Errorf("controller config: namespace: missing, expected the namespace of the controller")
	case file.Distribution.Name == "":
		return nil, fmt.Errorf("controller config: distribution.name: missing, expected the name of a distribution profile")
	case len(file.Drivers) == 0:
		return nil, fmt.Errorf("controller config: drivers: missing, expected the driver profiles by name")
	}
	for name, d := range file.Drivers {
		if name != d.Name {
			return nil, fmt.Errorf("controller config: drivers.%s.name: found %q, expected %q", name, d.Name, name)
		}
	}
	if s := file.Sidecar; s != nil && (s.Image == "" || s.Webhook.Name == "" || s.Webhook.Service == "" || s.Webhook.Secret == "") {
		return nil, fmt.Errorf("controller config: sidecar: found %+v, expected image, webhook.name, webhook.service and webhook.secret", *s)
	}
	s, err := Parse(file.Settings)
	if err != nil {
		return nil, fmt.Errorf("controller config: %w", err)
	}
	return &ControllerConfig{
		UnderHooks:   file.UnderHooks,
		Namespace:    file.Namespace,
		Distribution: file.Distribution,
		Settings:     s,
		Drivers:      file.Drivers,
		Sidecar:      file.Sidecar,
	}, nil
}

// Profiles returns the chart's driver profiles with the user's own over them, as the function Profiles does with the built-in
// ones.
func (c *ControllerConfig) Profiles() (*profile.Set, []Problem) {
	drivers := make([]profile.Driver, 0, len(c.Drivers))
	for _, name := range sortedKeys(c.Drivers) {
		drivers = append(drivers, c.Drivers[name])
	}
	return overBuiltin(drivers, c.Settings.CustomDrivers)
}
