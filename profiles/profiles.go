// Package profiles embeds the profile files that the chart also reads, so that the controller, the hooks and the CLI know
// the same drivers and distributions.
package profiles

import "embed"

// Files holds drivers/*.yaml and distributions/*.yaml.
//
//go:embed drivers/*.yaml distributions/*.yaml
var Files embed.FS
