package featuregate

import (
	"fmt"
	"path"
	"strconv"
	"strings"
)

// Flags is what a component's arguments say of feature gates.
type Flags struct {
	// Set holds every gate that is set by name, AllAlpha and AllBeta included, in or out of the table.
	Set map[string]bool
	// Twice are gates that one argument list sets more than once, sorted by gate. The last value wins silently.
	Twice []Twice
	// Emulated is the minor of --emulated-version, which decides about defaults; 0 when not set.
	Emulated int
	// RuntimeConfig is --runtime-config of kube-apiserver: `resource.k8s.io/v1beta1`, `api/all`.
	RuntimeConfig map[string]bool
	// File is a configuration file named in the arguments that may set gates as well; empty: none. A gate that is not in
	// Set may be set there.
	File string
}

// Twice is a gate with the values it is given one after the other.
type Twice struct {
	Gate   string
	Values []bool
}

// gateFile is a flag of a wrapper around the upstream binaries that takes all of their arguments from a file.
const gateFile = "openshift-config"

// ParseArgs reads the command and arguments of a container that runs a component of the control plane, as the component itself
// reads them: several --feature-gates flags are merged and the last value of a gate wins, a value may stand in the next
// argument, `_` in a flag's name is `-`, gates may carry the prefix `kube:`. The component may be started by a wrapper program or by
// `sh -c`. Where the gates can't be told for certain (the component is not there, a variable hides arguments, it would not
// accept them itself) the error says what was found.
func ParseArgs(component string, argv []string) (Flags, error) {
	starts, err := locate(component, argv)
	if err != nil {
		return Flags{}, err
	}
	first, err := parseFlags(component, starts[0])
	if err != nil {
		return Flags{}, err
	}
	for _, other := range starts[1:] {
		next, err := parseFlags(component, other)
		if err != nil {
			return Flags{}, err
		}
		if fmt.Sprint(first) != fmt.Sprint(next) {
			return Flags{}, fmt.Errorf("the script starts %s in %d places with different feature gates", component, len(starts))
		}
	}
	return first, nil
}

// parseFlags reads the words after the component's name.
func parseFlags(component string, words []word) (Flags, error) {
	values := map[string][]string{}
	afterFlag := false
	for i := 0; i < len(words) && words[i].text != "--"; i++ {
		w := words[i]
		name, value, hasValue := strings.Cut(w.text, "=")
		if w.dynamic >= 0 && w.dynamic < len(name) {
			// Behind a flag without a value it is that flag's value; anywhere else it may be any number of flags.
			if afterFlag && !strings.HasPrefix(name, "-") {
				afterFlag = false
				continue
			}
			return Flags{}, fmt.Errorf("the argument %q comes from a variable and may hold feature gates", w.text)
		}
		afterFlag = strings.HasPrefix(name, "-") && !hasValue
		if !strings.HasPrefix(name, "--") {
			continue
		}
		name = strings.ReplaceAll(strings.TrimPrefix(name, "--"), "_", "-")
		if !wanted(component, name) {
			continue
		}
		if !hasValue {
			if i++; i == len(words) {
				return Flags{}, fmt.Errorf("--%s is the last argument and has no value", name)
			}
			w, value, afterFlag = words[i], words[i].text, false
		}
		if w.dynamic >= 0 && name != gateFile {
			return Flags{}, fmt.Errorf("the value of --%s comes from a variable: %q", name, value)
		}
		values[name] = append(values[name], value)
	}
	return interpret(component, values)
}

func wanted(component, flag string) bool {
	switch flag {
	case "feature-gates", "emulated-version", gateFile:
		return true
	case "runtime-config":
		return component == APIServer
	}
	return false
}

func interpret(component string, values map[string][]string) (Flags, error) {
	var flags Flags
	var err error
	if flags.Set, flags.Twice, err = parseGates(component, values["feature-gates"]); err != nil {
		return Flags{}, err
	}
	if flags.Emulated, err = parseEmulated(values["emulated-version"]); err != nil {
		return Flags{}, err
	}
	if flags.RuntimeConfig, err = parseRuntimeConfig(values["runtime-config"]); err != nil {
		return Flags{}, err
	}
	if files := values[gateFile]; len(files) > 0 {
		flags.File = files[len(files)-1]
	}
	return flags, nil
}

// parseEmulated reads `1.36` and `kube=1.36`. More than one is an error to the components too.
func parseEmulated(values []string) (int, error) {
	found := 0
	for _, v := range strings.FieldsFunc(strings.Join(values, ","), func(r rune) bool { return r == ',' }) {
		prefix, version, ok := strings.Cut(v, "=")
		if !ok {
			prefix, version = "kube", v
		}
		minor, ok := Minor(strings.TrimSpace(version))
		if strings.TrimSpace(prefix) != "kube" || !ok || found != 0 {
			return 0, fmt.Errorf("--emulated-version: found %q, expected one version such as 1.36", strings.Join(values, ","))
		}
		found = minor
	}
	return found, nil
}

// parseRuntimeConfig reads `group/version=true`; a key alone means true.
func parseRuntimeConfig(values []string) (map[string]bool, error) {
	var out map[string]bool
	for _, item := range strings.Split(strings.Join(values, ","), ",") {
		if item == "" {
			continue
		}
		key, value, _ := strings.Cut(item, "=")
		value = strings.TrimSpace(value)
		on, err := strconv.ParseBool(value)
		if err != nil && value != "" {
			return nil, fmt.Errorf("--runtime-config: found %q, expected group/version=true or =false", item)
		}
		if out == nil {
			out = map[string]bool{}
		}
		out[strings.TrimSpace(key)] = on || value == ""
	}
	return out, nil
}

// isProgram says whether a word runs the program of that name, from whatever folder.
func isProgram(text, name string) bool {
	return !strings.HasPrefix(text, "-") && path.Base(text) == name
}
