package featuregate

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// word is one argument. dynamic is the index in text where a variable or a command's output stands whose value is not
// known, or -1.
type word struct {
	text    string
	dynamic int
}

var (
	shells = []string{"sh", "bash", "dash", "ash", "ksh", "zsh"}
	// prefixes may stand before a command in a script without being one.
	prefixes = []string{"exec", "then", "else", "elif", "do", "!", "if", "while", "until", "{", "time", "nohup", "env", "command"}
	// mentions are commands whose arguments name a program without running it.
	mentions   = []string{"echo", "printf", "pgrep", "pkill", "pidof", "killall", "which", "type", "test", "[", "[[", "trap", "cp", "ls"}
	assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)
)

// locate returns the arguments of the component, once for each place that starts it. It finds it as the command itself, as
// an argument of a wrapper program, in the script of a shell, or as the image's entrypoint when there are only flags.
func locate(component string, argv []string) ([][]word, error) {
	if len(argv) == 0 {
		return nil, errors.New("the container has neither command nor arguments")
	}
	if strings.HasPrefix(argv[0], "-") {
		return [][]word{literal(argv)}, nil
	}
	for i, a := range argv {
		switch {
		case isProgram(a, component):
			return [][]word{literal(argv[i+1:])}, nil
		case slices.Contains(shells, path.Base(a)):
			script, params, ok := shellScript(argv[i+1:])
			if !ok {
				return nil, notFound(component, argv)
			}
			return locateInScript(component, script, params)
		}
	}
	return nil, notFound(component, argv)
}

func notFound(component string, argv []string) error {
	var shown []string
	for _, a := range argv[:min(3, len(argv))] {
		if len(a) > 60 {
			a = a[:60] + "..."
		}
		shown = append(shown, fmt.Sprintf("%q", a))
	}
	if len(argv) > 3 {
		shown = append(shown, "...")
	}
	return fmt.Errorf("%s is not started here, found %s", component, strings.Join(shown, " "))
}

// literal makes words of arguments that no shell sees. The kubelet replaces $(VAR) in them, $$(VAR) is an escape.
func literal(argv []string) []word {
	out := make([]word, len(argv))
	for i, a := range argv {
		out[i] = word{text: a, dynamic: strings.Index(strings.ReplaceAll(a, "$$", "\x00\x00"), "$(")}
	}
	return out
}

// shellScript takes a shell's arguments apart: the script after -c (or -ec, -o pipefail -c), and what follows $0.
func shellScript(args []string) (script string, params []word, ok bool) {
	command := false
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case strings.HasPrefix(a, "--"):
		case strings.HasPrefix(a, "-"), strings.HasPrefix(a, "+"):
			command = command || strings.Contains(a, "c")
			if strings.Contains(a, "o") {
				i++
			}
		case !command:
			return "", nil, false
		default:
			if len(args) > i+2 {
				params = literal(args[i+2:])
			}
			return a, params, true
		}
	}
	return "", nil, false
}

// locateInScript looks for commands that are the component, else for wrappers with the component as an argument.
func locateInScript(component, script string, params []word) ([][]word, error) {
	commands, err := splitScript(script)
	if err != nil {
		return nil, fmt.Errorf("the shell script that starts %s can't be read: %w", component, err)
	}
	var direct, wrapped [][]word
	for _, c := range commands {
		start := 0
		for start < len(c) && (slices.Contains(prefixes, c[start].text) || assignment.MatchString(c[start].text)) {
			start++
		}
		if start == len(c) || slices.Contains(mentions, c[start].text) {
			continue
		}
		at := slices.IndexFunc(c[start:], func(w word) bool { return w.dynamic < 0 && isProgram(w.text, component) })
		if at < 0 {
			continue
		}
		args := withParams(c[start+at+1:], params)
		if at == 0 {
			direct = append(direct, args)
		} else {
			wrapped = append(wrapped, args)
		}
	}
	switch {
	case len(direct) > 0:
		return direct, nil
	case len(wrapped) > 0:
		return wrapped, nil
	}
	return nil, notFound(component, []string{script})
}

// withParams puts the script's own arguments where it says "$@".
func withParams(words, params []word) []word {
	var out []word
	for _, w := range words {
		if w.dynamic == 0 && (w.text == "$@" || w.text == "$*") {
			out = append(out, params...)
			continue
		}
		out = append(out, w)
	}
	return out
}
