package guard

import (
	"errors"
	"io/fs"
	"os"
	"strings"

	"github.com/gpu-dra/gpu-dra/internal/guard"
)

// hostRoot is where the chart mounts folders of the host.
const hostRoot = "/host"

// missing are the waits none of whose paths exists.
func missing(waits []wait) []guard.Missing {
	var out []guard.Missing
	for _, w := range waits {
		if looked, found := anyExists(w.anyOf); !found {
			out = append(out, guard.Missing{What: w.what, LookedFor: looked})
		}
	}
	return out
}

// anyExists returns the paths as a person on the host knows them when none of them exists.
func anyExists(paths []string) (looked []string, found bool) {
	for _, path := range paths {
		// Not Stat: a link that is absolute (/usr/bin/x -> /etc/alternatives/x) leads out of the folder where the host's files
		// are mounted, and would seem to be broken.
		_, err := os.Lstat(path)
		var cause *fs.PathError
		if below := strings.TrimPrefix(path, hostRoot); strings.HasPrefix(below, "/") {
			path = below
		}
		switch {
		case err == nil:
			return nil, true
		case !errors.Is(err, fs.ErrNotExist) && errors.As(err, &cause):
			path += " (" + cause.Err.Error() + ")"
		}
		looked = append(looked, path)
	}
	return looked, false
}
