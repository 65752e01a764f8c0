package featuregate

import (
	"maps"
	"slices"
	"strings"
)

type stage string

const (
	stageAlpha      stage = "alpha"
	stageBeta       stage = "beta"
	stageGA         stage = "GA"
	stageDeprecated stage = "deprecated"
	// stageRemoved: the gate's name is unknown from that minor on, and a component that is given it does not start.
	stageRemoved stage = "removed"
)

// spec is what a gate is from one minor on, until the next spec.
type spec struct {
	// from is the first Kubernetes minor.
	from  int
	stage stage
	// on is the default; for a removed gate, whether the feature is always on.
	on bool
	// locked: setting it to anything but the default stops the component.
	locked bool
	// minCompat: only with --min-compatibility-version of that minor or newer; the default is one minor below the component's.
	minCompat int
}

// dependencies are gates that must be on as well, from a minor on.
type dependencies struct {
	from  int
	gates []string
}

// gate is one Kubernetes feature gate.
type gate struct {
	// specs in ascending order of minors.
	specs []spec
	// needs in ascending order of minors. Components check them at start from dependenciesSince on.
	needs []dependencies
	// lockAnnounced and removalAnnounced are minors that the sources promise, 0 where they promise none.
	lockAnnounced, removalAnnounced int
}

// needsOf returns what a gate depends on in a minor. Before dependenciesSince it is what the first sources that have
// dependencies say, of gates that are there already: the feature does not work without them either.
func needsOf(name string, minor int) []string {
	var out []string
	for _, d := range table[name].needs {
		if d.from > max(minor, dependenciesSince) {
			break
		}
		out = d.gates
	}
	return out
}

// presence says what is known of a gate at a minor.
type presence int

const (
	// notInTable: no minor that the table covers has such a gate.
	notInTable presence = iota
	// notYet: a later minor introduces it.
	notYet
	// present: components of that minor know it.
	present
	// gone: components of that minor do not know it any more.
	gone
	// beyond: the minor is newer than the table, and the gate was not locked by then.
	beyond
)

// lookup returns what a gate is at a minor. The spec is meaningful where the gate is present or gone.
func lookup(name string, minor int) (spec, presence) {
	g, ok := table[name]
	if !ok {
		return spec{}, notInTable
	}
	var found spec
	for _, s := range g.specs {
		if s.from <= minor && s.minCompat < minor {
			found = s
		}
	}
	switch {
	case found.from == 0:
		return spec{}, notYet
	case found.stage == stageRemoved:
		return found, gone
	case minor > newest && !found.locked:
		return found, beyond
	}
	return found, present
}

// Default returns whether a gate is on in a Kubernetes minor (34 for 1.34) when nobody sets it. known is false where the
// table can't say: a gate it does not have, or a minor newer than the table. A gate that a minor does not have yet is off;
// one that was removed after it had become part of Kubernetes is on.
func Default(name string, minor int) (on, known bool) {
	s, p := lookup(name, minor)
	return s.on && (p == present || p == gone), p != notInTable && p != beyond
}

// InTable says whether gpu-dra knows a gate: one of the table, or AllAlpha and AllBeta.
func InTable(name string) bool {
	_, ok := table[name]
	return ok || groupGate(name)
}

// groupGate says whether a gate sets all gates of a stage.
func groupGate(name string) bool { return name == AllAlpha || name == AllBeta }

// nearest returns the gate of the table whose name differs from a misspelled one by at most two letters, or "".
func nearest(name string) string {
	best, bestDistance := "", 3
	for _, known := range slices.Sorted(maps.Keys(table)) {
		if d := distance(strings.ToLower(name), strings.ToLower(known)); d < bestDistance {
			best, bestDistance = known, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace++
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Stage is what components of a minor have of a gate.
type Stage struct {
	// Present: they know it. Without that nothing else is set.
	Present bool
	// Name: alpha, beta, GA or deprecated.
	Name string
	// On by default; Locked to that default.
	On, Locked bool
	// Needs are the gates that it depends on, sorted.
	Needs []string
}

// At returns what a gate is in a minor of the table.
func At(name string, minor int) Stage {
	s, p := lookup(name, minor)
	if p != present {
		return Stage{}
	}
	return Stage{Present: true, Name: string(s.stage), On: s.on, Locked: s.locked, Needs: slices.Clone(needsOf(name, minor))}
}

// Gates returns the gates of the table, sorted.
func Gates() []string { return slices.Sorted(maps.Keys(table)) }
