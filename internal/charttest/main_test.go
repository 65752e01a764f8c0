package charttest

import (
	"os"
	"runtime/debug"
	"testing"
)

// Hundreds of renders make much garbage and keep nothing: collecting it as it comes takes a third of the processor.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
