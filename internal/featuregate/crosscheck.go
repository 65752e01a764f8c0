package featuregate

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// AnswersKept is how many of the last answers a cross-check is given. One address may stand for several API servers, of
	// which another answers each time: with this many, what one of them says is not forgotten when another answers.
	AnswersKept = 10
	// confirmations is how many answers in a row have to differ from the flags before it is said: an API server whose
	// manifest changed answers for a while as it was.
	confirmations = 3
)

// ServerFlags tells the flags of API servers from others: two are the same where the same instances have the same version and set
// the same gates. An answer in /metrics is to be compared with the flags under which it was given: after one was changed, those
// that were given before contradict it, and rightly so.
func ServerFlags(instances []Instance) string {
	var out strings.Builder
	for _, s := range instancesOf(APIServer, instances) {
		// fmt prints maps sorted by key.
		fmt.Fprintf(&out, "%q %q %v %d %q %q\n", s.Name, s.Version, s.Set, s.Emulated, s.File, s.Unreadable)
	}
	return out.String()
}

// CrossCheck compares the flags of API servers with what they say in their /metrics, the newest answer last. Flags stay the
// verdict; what differs is returned, sorted by gate. An answer differs where no API server whose flags are known could have
// given it: it says nothing of which instance it comes from. What differed before, and is given in before, does until several
// answers and all that are kept agree. compared is false where there is nothing to compare with.
func CrossCheck(instances []Instance, answers []Answer, before []Conflict) (differ []Conflict, compared bool) {
	servers := instancesOf(APIServer, instances)
	gates := map[string]bool{}
	for _, a := range answers {
		compared = compared || len(candidates(servers, a)) > 0
		for gate := range a.Gates {
			gates[gate] = true
		}
	}
	for _, c := range before {
		gates[c.Gate] = true
	}
	for _, gate := range slices.Sorted(maps.Keys(gates)) {
		if c := crossCheck(gate, servers, answers, before); c != nil {
			differ = append(differ, *c)
		}
	}
	return differ, compared
}

func crossCheck(gate string, servers []Instance, answers []Answer, before []Conflict) *Conflict {
	differing, inARow := 0, 0
	for _, a := range answers {
		if !contradicts(gate, a, servers) {
			inARow = 0
			continue
		}
		differing++
		inARow++
	}
	was := slices.IndexFunc(before, func(c Conflict) bool { return c.Gate == gate })
	switch {
	case was >= 0 && len(answers) < confirmations:
		return &before[was]
	case inARow >= confirmations, was >= 0 && differing > 0:
		return &Conflict{Gate: gate, Component: APIServer, Text: difference(gate, servers, answers)}
	}
	return nil
}

// candidates are the servers that may have given an answer: those of its version. Flags of none but theirs say anything of it.
func candidates(servers []Instance, a Answer) []Instance {
	minor, known := Minor(a.Version)
	var out []Instance
	for _, s := range servers {
		if of, ok := Minor(s.Version); !known || !ok || of == minor {
			out = append(out, s)
		}
	}
	return out
}

// contradicts is true where by their flags every server that may have answered is known to have the other value.
func contradicts(gate string, a Answer, servers []Instance) bool {
	said, ok := a.Gates[gate]
	if !ok {
		return false
	}
	possible := candidates(servers, a)
	for _, s := range possible {
		if val := s.value(gate); !val.known || val.on == said {
			return false
		}
	}
	return len(possible) > 0
}

// difference names what /metrics says, in all answers that are kept, and what the flags say.
func difference(gate string, servers []Instance, answers []Answer) string {
	var said [2]bool
	for _, a := range answers {
		if on, ok := a.Gates[gate]; ok {
			said[index(on)] = true
		}
	}
	var flags []string
	for _, s := range servers {
		val := s.value(gate)
		if val.known {
			flags = append(flags, fmt.Sprintf("%s in %s (%s)", onOff(val.on), s, val.why))
		}
	}
	by := strings.Join(flags, ", ")
	if said[0] && said[1] {
		return fmt.Sprintf("/metrics of the API server says now on, now off; by the flags it is %s: more API servers answer than are seen, give all of them the same flags", by)
	}
	return fmt.Sprintf("/metrics of the API server says %s; by the flags it is %s: see whether it was started anew after its manifest changed, "+
		"and whether an API server answers that is not seen", onOff(said[1]), by)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
