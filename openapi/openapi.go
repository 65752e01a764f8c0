// Package openapi embeds the schema of the settings, so that what Go accepts is what Deckhouse and Helm accept.
package openapi

import _ "embed"

// ConfigValues is config-values.yaml: the schema of the settings with their defaults.
//
//go:embed config-values.yaml
var ConfigValues []byte

// Values is values.yaml: what addon-operator adds to the settings (`internal`, `registry`).
//
//go:embed values.yaml
var Values []byte
