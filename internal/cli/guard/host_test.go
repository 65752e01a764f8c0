package guard

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gpu-dra/gpu-dra/internal/guard"
)

// What a person is told to look at is where it is on the host.
func TestMissingNamesPathsOfTheHost(t *testing.T) {
	dir := t.TempDir()
	absent := filepath.Join(dir, "absent")
	require.Equal(t, []guard.Missing{
		{What: "a", LookedFor: []string{"/no/such/file", "/hostile", absent}},
		{What: "c", LookedFor: []string{absent}},
	}, missing([]wait{
		{what: "a", anyOf: []string{"/host/no/such/file", "/hostile", absent}},
		{what: "b", anyOf: []string{absent, dir}},
		{what: "c", anyOf: []string{absent}},
	}))
	require.Empty(t, missing(nil))
}
