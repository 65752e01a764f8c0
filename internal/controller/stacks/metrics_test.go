package stacks

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/gpu-dra/gpu-dra/api/v1alpha1"
	"github.com/gpu-dra/gpu-dra/internal/featuregate"
	"github.com/gpu-dra/gpu-dra/internal/stack"
)

// metricsOf is a Metrics over a real HTTP server, by the client that the controller has.
func metricsOf(t *testing.T, handler http.HandlerFunc, timeout time.Duration) (*Metrics, *clocktesting.FakePassiveClock) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	client, err := discovery.NewDiscoveryClientForConfig(&rest.Config{Host: server.URL, Timeout: timeout})
	require.NoError(t, err)
	clock := clocktesting.NewFakePassiveClock(start)
	return &Metrics{REST: client.RESTClient(), Clock: clock}, clock
}

func TestMetricsAreReadOnceAMinute(t *testing.T) {
	var paths, accepted []string
	on := 1
	m, clock := metricsOf(t, func(w http.ResponseWriter, r *http.Request) {
		paths, accepted = append(paths, r.Method+" "+r.URL.Path), append(accepted, r.Header.Get("Accept"))
		require.Contains(t, r.Header.Get("Accept-Encoding"), "gzip")
		w.Header().Set("Content-Encoding", "gzip")
		out := gzip.NewWriter(w)
		fmt.Fprintf(out, "%s\nkubernetes_build_info{git_version=\"v1.34.4\"} 1\nkubernetes_feature_enabled{name=\"DRAExtendedResource\",stage=\"ALPHA\"} %d\n",
			strings.Repeat("apiserver_request_total{code=\"200\"} 1\n", 100_000), on)
		out.Close()
	}, timeToTest)
	fill := func() stack.Metrics {
		var in stack.Input
		m.fill(t.Context(), &in)
		return in.Metrics
	}
	first := fill()
	require.Equal(t, stack.Metrics{Answers: []featuregate.Answer{{Version: "v1.34.4", Gates: map[string]bool{"DRAExtendedResource": true}}}}, first)
	clock.SetTime(start.Add(metricsEvery - time.Second))
	on = 0
	require.Equal(t, first, fill(), "not on each event")
	require.Equal(t, []string{"GET /metrics"}, paths)
	require.Equal(t, []string{"text/plain;version=0.0.4"}, accepted)

	for i := range 2 * featuregate.AnswersKept {
		clock.SetTime(start.Add(time.Duration(i+1) * metricsEvery))
		fill()
	}
	require.Len(t, paths, 1+2*featuregate.AnswersKept)
	last := fill()
	require.Len(t, last.Answers, featuregate.AnswersKept)
	require.False(t, last.Answers[0].Gates["DRAExtendedResource"])
	require.True(t, first.Answers[0].Gates["DRAExtendedResource"], "what was handed out stays as it was")
}

// After a gate was changed, what was answered before says nothing of the new flags; what it says of them comes with new answers.
func TestMetricsUnderOtherFlagsDoNotCount(t *testing.T) {
	on := 0
	m, clock := metricsOf(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "kubernetes_build_info{git_version=\"v1.34.4\"} 1\nkubernetes_feature_enabled{name=\"DRAExtendedResource\",stage=\"ALPHA\"} %d\n", on)
	}, timeToTest)
	at := start
	server := func(flags ...string) []featuregate.Instance {
		return []featuregate.Instance{featuregate.NewInstance(featuregate.APIServer, "a", "v1.34.4", append([]string{featuregate.APIServer}, flags...))}
	}
	status := v1alpha1.GPUStackStatus{}
	check := func(instances []featuregate.Instance, answers int, conflicts int) {
		t.Helper()
		in := stack.Input{Synced: true, KubernetesVersion: "v1.34.4", ResourceAPIs: []string{"v1"}, Instances: instances}
		m.fill(t.Context(), &in)
		require.Len(t, in.Metrics.Answers, answers)
		status = stack.Compute(status, in, at)
		require.Len(t, status.FeatureGates.Conflicts, conflicts, "%+v", status.FeatureGates.Conflicts)
	}
	minute := func() { at = at.Add(metricsEvery); clock.SetTime(at) }
	for n := range featuregate.AnswersKept {
		minute()
		check(server(), n+1, 0)
	}
	changed := server("--feature-gates=DRAExtendedResource=true")
	check(changed, 0, 0)
	require.Equal(t, "Agrees", status.FeatureGates.CrossCheck.State, "the last word stands until the next answer")
	on = 1
	for n := range 3 {
		minute()
		check(changed, n+1, 0)
	}
	// Its pod is not to be seen for a moment.
	check(nil, 0, 0)
	check(changed, 3, 0)
	// The manifest was changed back, and the API server was not started anew.
	const rest = featuregate.AnswersKept - 3
	for range 2 {
		minute()
		check(server(), rest, 0)
	}
	minute()
	check(server(), rest, 1)
}

const timeToTest = 10 * time.Second

func TestMetricsThatCannotBeRead(t *testing.T) {
	var answer http.HandlerFunc
	asked := 0
	m, clock := metricsOf(t, func(w http.ResponseWriter, r *http.Request) { asked++; answer(w, r) }, 300*time.Millisecond)
	at := start
	says := func(part string, h http.HandlerFunc) {
		t.Helper()
		answer = h
		at = at.Add(metricsEvery)
		clock.SetTime(at)
		var in stack.Input
		m.fill(t.Context(), &in)
		require.Contains(t, in.Metrics.Unreadable, part)
		before := asked
		m.fill(t.Context(), &in)
		require.Equal(t, before, asked, "a failure is no reason to ask more often")
	}
	says("forbidden", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","message":"forbidden: User cannot get path \"/metrics\"","reason":"Forbidden","code":403}`)
	})
	says("names no feature gate", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	says("the API server did not answer", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		fmt.Fprint(w, "up 1\n")
	})
	says("the API server did not answer", func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := fmt.Fprint(w, "up 1\n"); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			select {
			case <-r.Context().Done():
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	says("", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "kubernetes_feature_enabled{name=\"DRAAdminAccess\",stage=\"BETA\"} 1\n")
	})
	require.Empty(t, m.unreadable)
	require.Len(t, m.answers, 1)
}
