// Command gpu-dra-hooks holds the hooks of the module: addon-operator runs it as `hook list`, `hook config` and `hook run N`.
// It is built without -trimpath, because the SDK finds a hook's name in the path of its source.
//
// There is no readiness probe: the SDK's needs the Module object of Deckhouse and fails on any other addon-operator.
package main

import (
	"github.com/deckhouse/module-sdk/pkg/app"

	_ "github.com/gpu-dra/gpu-dra/hooks/certificates"
	_ "github.com/gpu-dra/gpu-dra/hooks/cluster"
	_ "github.com/gpu-dra/gpu-dra/hooks/nodegroups"
	_ "github.com/gpu-dra/gpu-dra/hooks/ready"
	_ "github.com/gpu-dra/gpu-dra/hooks/reservation"
)

func main() {
	app.Run()
}
