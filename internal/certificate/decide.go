package certificate

import (
	"bytes"
	"slices"
	"time"
)

// State of a webhook's certificate, as its replicas share it.
type State struct {
	// Current is served.
	Current Pair
	// Next is made known and served later; empty: there is none.
	Next Pair
	// Bundle of authorities that callers have to trust.
	Bundle []byte
	// Changed is when the last step was made.
	Changed time.Time
}

// Input of a decision.
type Input struct {
	Now   time.Time
	State State
	// Names of the server.
	Names []string
	// Published is the bundle that callers trust at the moment.
	Published []byte
	// RenewalAsked for by a person, before it is due.
	RenewalAsked bool
}

// settle is what a change of the bundle gets until every API server has it and every replica serves the pair meant.
const settle = 30 * time.Second

// Decide makes the next step, if it is time for one:
//
//	nothing that can be served           -> a new pair, at once
//	two thirds of its time are over      -> a next pair; its authority joins the bundle
//	the next one's authority is known    -> the next pair is served
//	nobody serves the old one any more   -> its authority leaves the bundle
func Decide(in Input) (State, bool, error) {
	s := in.State
	current, err := s.Current.Check(in.Now, in.Names)
	if err != nil {
		fresh, err := New(in.Now, in.Names)
		if err != nil {
			return s, false, err
		}
		// Whoever is trusted stays so until this pair has settled: another replica may serve what was lost here.
		return State{Current: fresh, Bundle: join(fresh.CA, in.Published), Changed: in.Now}, true, nil
	}
	// A step that seems to be made in the future was made by a replica whose clock is a little ahead, and has to settle too.
	// One further away is the work of a clock that was wrong, and waiting for it could take years.
	age := in.Now.Sub(s.Changed)
	settled := age >= settle || age < -settle
	_, err = s.Next.Check(in.Now, in.Names)
	hasNext := err == nil
	due := in.Now.After(current.NotAfter.Add(-lifetime / 3))
	switch {
	case !hasNext && (due || in.RenewalAsked):
		next, err := New(in.Now, in.Names)
		if err != nil {
			return s, false, err
		}
		// A person may ask right after a switch, when a replica still serves the pair before: its authority leaves later.
		return State{Current: s.Current, Next: next, Bundle: join(s.Current.CA, next.CA, s.Bundle, in.Published), Changed: in.Now}, true, nil
	case hasNext && settled && trusts(in.Published, s.Next.CA):
		return State{Current: s.Next, Bundle: join(s.Next.CA, s.Current.CA), Changed: in.Now}, true, nil
	case !hasNext && settled && !bytes.Equal(s.Bundle, join(s.Current.CA)):
		return State{Current: s.Current, Bundle: join(s.Current.CA), Changed: in.Now}, true, nil
	}
	return s, false, nil
}

// mostAuthorities in a bundle: more are the leavings of somebody's mistakes.
const mostAuthorities = 4

// join makes one bundle, each authority once.
func join(bundles ...[]byte) []byte {
	var all [][]byte
	for _, b := range bundles {
		for _, a := range authorities(b) {
			if len(all) < mostAuthorities && !slices.ContainsFunc(all, func(x []byte) bool { return bytes.Equal(x, a) }) {
				all = append(all, a)
			}
		}
	}
	return bytes.Join(all, nil)
}
