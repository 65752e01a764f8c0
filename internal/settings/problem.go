package settings

import "strings"

// Problem is something wrong with the settings.
type Problem struct {
	// Path of the setting: `nodeGroups[1].drivers[0]`. Empty: the settings as a whole.
	Path string
	// Message says what was found, what was expected and, where that is known, what to do.
	Message string
}

// String is the path and the message.
func (p Problem) String() string {
	if p.Path == "" {
		return p.Message
	}
	return p.Path + ": " + p.Message
}

// InvalidError holds everything that the schema refuses, in the order of the paths.
type InvalidError struct {
	Problems []Problem
}

func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return "settings: " + strings.Join(lines, "; ")
}
