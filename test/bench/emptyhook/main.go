// Command emptyhook is a hook program like gpu-dra-hooks whose one hook does nothing: what a run of it costs is the SDK's own
// share of any hook's run (its start, its decoding of the binding context and the values, its files).
package main

import (
	"github.com/deckhouse/module-sdk/pkg/app"

	_ "github.com/gpu-dra/gpu-dra/test/bench/emptyhook/hooks/empty"
)

func main() {
	app.Run()
}
