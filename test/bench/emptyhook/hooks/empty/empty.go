// Package empty registers a hook that does nothing. The SDK takes a hook's name from a path with /hooks/ in it, hence the folder.
package empty

import (
	"context"

	"github.com/deckhouse/module-sdk/pkg"
	"github.com/deckhouse/module-sdk/pkg/registry"
)

var _ = registry.RegisterFunc(&pkg.HookConfig{OnBeforeHelm: &pkg.OrderedConfig{Order: 1}}, run)

func run(context.Context, *pkg.HookInput) error { return nil }
