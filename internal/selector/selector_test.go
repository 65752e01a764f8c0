package selector

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCheck(t *testing.T) {
	for expression, says := range map[string]string{
		`device.driver == "x"`: "",
		// What a feature gate of the cluster may allow is for the cluster to say.
		`!device.allowMultipleAllocations`:               "",
		`device.attributes["d"].nodes.exists(n, n == 1)`: "",
		``:                               "line 1",
		`device.driver = "x"`:            "line 1, column 15: Syntax error",
		`device.drvier == "x"`:           "undefined field 'drvier'",
		`device.driver`:                  "must evaluate to bool",
		strings.Repeat(" ", 10240) + "1": "has 10241 bytes, at most 10240",
		`device.attributes["d"].all(x, device.attributes["d"].all(y, device.attributes["d"].all(z, device.attributes["d"].all(w, x + y + z + w != ""))))`: "too complex: its estimated cost",
	} {
		err := Check(expression)
		if says == "" {
			require.NoError(t, err, expression)
			continue
		}
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "\n", "a condition is one line")
	}
}
