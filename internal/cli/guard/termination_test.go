package guard

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestLeaveMessage(t *testing.T) {
	file := filepath.Join(t.TempDir(), "termination-log")
	require.NoError(t, leaveMessage(file, "why"))
	require.NoFileExists(t, file, "outside a pod nothing is written")

	require.NoError(t, os.WriteFile(file, []byte("an earlier and longer one"), 0o600))
	require.NoError(t, leaveMessage(file, "why"))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, "why", string(data))

	long := "x" + strings.Repeat("é", maxMessage)
	require.NoError(t, leaveMessage(file, long))
	data, err = os.ReadFile(file)
	require.NoError(t, err)
	require.Len(t, data, maxMessage-1, "the last character did not fit whole")
	require.True(t, utf8.Valid(data))
	require.True(t, strings.HasPrefix(long, string(data)))
}

// A message that cannot be left hides no reason.
func TestMessageThatCannotBeLeft(t *testing.T) {
	r := newRig(t)
	r.terminationLog = t.TempDir()
	r.server.advertises("acme.example/npu", 8)
	require.EqualError(t, r.run(t.Context(), pluginFlag, "--timeout=0"), "not clear after 0s: "+stillEight)
	require.Contains(t, r.log.String(), "the reason is not left for the pod's status: open "+r.terminationLog+": is a directory")
}
