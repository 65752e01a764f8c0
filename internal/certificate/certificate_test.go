package certificate

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var names = []string{"controller-webhook.gpu-dra.svc", "controller-webhook.gpu-dra"}

// served is a real server with a pair that changes; call answers for who trusts a bundle.
type served struct {
	t    *testing.T
	pair *tls.Certificate
	url  string
}

func serve(t *testing.T) *served {
	s := &served{t: t}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	server.TLS = &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return s.pair, nil }}
	server.StartTLS()
	// Its own certificate would be preferred to ours.
	server.TLS.Certificates = nil
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

func (s *served) call(bundle []byte, name string, now time.Time) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{
		RootCAs: roots, ServerName: name, Time: func() time.Time { return now },
	}}}
	response, err := client.Get(s.url)
	if err == nil {
		response.Body.Close()
	}
	return err
}

// A renewal, step by step, with a real handshake at each: whoever trusts what was published before or after a step is served.
func TestRenewal(t *testing.T) {
	now := time.Now()
	s := serve(t)
	var state State
	var published []byte
	step := func(asked bool) bool {
		t.Helper()
		next, changed, err := Decide(Input{Now: now, State: state, Names: names, Published: published, RenewalAsked: asked})
		require.NoError(t, err)
		before := published
		state, published = next, next.Bundle
		s.pair, err = state.Current.TLS()
		require.NoError(t, err)
		for _, name := range names {
			require.NoError(t, s.call(published, name, now))
			if changed && before != nil {
				require.NoError(t, s.call(before, name, now), "an API server that has not seen the change yet")
			}
		}
		return changed
	}
	require.True(t, step(false), "nothing was there")
	first := state.Current
	require.Len(t, authorities(published), 1)
	require.Error(t, s.call(published, "other.svc", now))
	require.Error(t, s.call(nil, names[0], now))
	require.False(t, step(false))
	now = now.Add(lifetime*2/3 - time.Minute)
	require.False(t, step(false), "not due")
	now = now.Add(2 * time.Minute)
	require.True(t, step(false), "due: the next one's authority is made known")
	require.Equal(t, first, state.Current)
	require.Len(t, authorities(published), 2)
	require.False(t, step(true), "there is a next one already, and it has to settle")
	now = now.Add(settle)
	require.True(t, step(false), "it is served")
	require.NotEqual(t, first, state.Current)
	require.True(t, trusts(published, first.CA), "a replica may serve the old one")
	require.False(t, step(false))
	now = now.Add(settle)
	require.True(t, step(false))
	require.Equal(t, state.Current.CA, published)
	require.False(t, step(false))
	require.True(t, step(true), "a person asks")
	require.NotEmpty(t, state.Next.Cert)
}

func TestNextIsNotServedBeforeItIsTrusted(t *testing.T) {
	now := time.Now()
	current, err := New(now, names)
	require.NoError(t, err)
	next, err := New(now, names)
	require.NoError(t, err)
	in := Input{Now: now.Add(time.Hour), Names: names, Published: current.CA,
		State: State{Current: current, Next: next, Bundle: join(current.CA, next.CA), Changed: now}}
	_, changed, err := Decide(in)
	require.NoError(t, err)
	require.False(t, changed)
	in.Published = in.State.Bundle
	got, changed, err := Decide(in)
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, next, got.Current)
}

// What cannot be served is replaced at once, whatever is wrong with it.
func TestBrokenPairs(t *testing.T) {
	now := time.Now()
	good, err := New(now, names)
	require.NoError(t, err)
	other, err := New(now, names)
	require.NoError(t, err)
	foreign, err := New(now, []string{"other.svc"})
	require.NoError(t, err)
	old, err := New(now.Add(-2*lifetime), names)
	require.NoError(t, err)
	for name, pair := range map[string]Pair{
		"nothing": {}, "no PEM": {CA: []byte("x"), Cert: []byte("y"), Key: []byte("z")}, "another key": {good.CA, good.Cert, other.Key},
		"another authority": {other.CA, good.Cert, good.Key}, "other names": foreign, "over": old, "no authority": {nil, good.Cert, good.Key},
	} {
		got, changed, err := Decide(Input{Now: now, Names: names, State: State{Current: pair, Bundle: pair.CA, Changed: now}, Published: other.CA})
		require.NoError(t, err, name)
		require.True(t, changed, name)
		_, err = got.Current.Check(now, names)
		require.NoError(t, err, name)
		require.True(t, trusts(got.Bundle, got.Current.CA), name)
		require.True(t, trusts(got.Bundle, other.CA), "%s: who was trusted stays so", name)
	}
	_, changed, err := Decide(Input{Now: now, Names: names, State: State{Current: good, Bundle: good.CA, Changed: now.Add(time.Hour)}})
	require.NoError(t, err)
	require.False(t, changed, "a clock that went back")
	s, changed, err := Decide(Input{Now: now, Names: names, State: State{Current: good, Bundle: join(good.CA, other.CA), Changed: now.Add(time.Hour)}})
	require.NoError(t, err)
	require.True(t, changed, "nobody waits for an hour to come")
	require.Equal(t, good.CA, s.Bundle)
	_, _, err = Decide(Input{Now: now})
	require.ErrorContains(t, err, "found no name")
}

// The clock of the replica that made the step is ahead of that of the one which looks: the step has to settle all the same.
func TestClocksOfReplicasDiffer(t *testing.T) {
	now := time.Now()
	current, err := New(now, names)
	require.NoError(t, err)
	next, err := New(now, names)
	require.NoError(t, err)
	bundle := join(current.CA, next.CA)
	in := Input{Names: names, Published: bundle, State: State{Current: current, Next: next, Bundle: bundle, Changed: now}}
	for _, ahead := range []time.Duration{time.Nanosecond, time.Second, 2 * time.Second, settle} {
		in.Now = now.Add(-ahead)
		_, changed, err := Decide(in)
		require.NoError(t, err)
		require.False(t, changed, "%s ahead", ahead)
	}
	in.Now = now.Add(settle)
	got, changed, err := Decide(in)
	require.NoError(t, err)
	require.True(t, changed)
	require.Equal(t, next, got.Current)
}

// A person asks again right after a switch: a replica that has not looked since serves the old pair and must stay trusted.
func TestRenewalRightAfterASwitch(t *testing.T) {
	now := time.Now()
	first, err := New(now, names)
	require.NoError(t, err)
	second, err := New(now, names)
	require.NoError(t, err)
	bundle := join(second.CA, first.CA)
	late := serve(t)
	late.pair, err = first.TLS()
	require.NoError(t, err)
	for name, in := range map[string]Input{
		"as published":                           {State: State{Bundle: bundle}, Published: bundle},
		"somebody wrote over what callers trust": {State: State{Bundle: bundle}},
		"the Secret lost its bundle":             {Published: bundle},
	} {
		in.Now, in.Names, in.RenewalAsked = now, names, true
		in.State.Current, in.State.Changed = second, now
		state, changed, err := Decide(in)
		require.NoError(t, err, name)
		require.True(t, changed, name)
		require.NoError(t, late.call(state.Bundle, names[0], now), name)
		require.True(t, trusts(state.Bundle, second.CA), name)
		require.True(t, trusts(state.Bundle, state.Next.CA), name)

		third := state.Next
		for range 2 {
			now := state.Changed.Add(settle)
			state, changed, err = Decide(Input{Now: now, Names: names, State: state, Published: state.Bundle})
			require.NoError(t, err, name)
			require.True(t, changed, name)
			require.Error(t, late.call(state.Bundle, names[0], now), "%s: nobody serves it any more", name)
		}
		require.Equal(t, third, state.Current, name)
		require.Equal(t, third.CA, state.Bundle, name)
	}
}

func TestBundlesDoNotGrow(t *testing.T) {
	now := time.Now()
	var published []byte
	for range 10 {
		s, changed, err := Decide(Input{Now: now, Names: names, Published: published})
		require.NoError(t, err)
		require.True(t, changed)
		published = s.Bundle
	}
	require.Len(t, authorities(published), mostAuthorities)
}
