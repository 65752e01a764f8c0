package lastsample

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type behind struct{ address, problem string }

func (b behind) Address() (string, string) { return b.address, b.problem }

func serve(t *testing.T, h http.Handler) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func ask(t *testing.T, method, url string) (int, string) {
	t.Helper()
	request, err := http.NewRequest(method, url, nil)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

// exporter answers as one does; what it says of /metrics can be changed.
func exporter(t *testing.T, metrics http.HandlerFunc) (*Gate, *httptest.Server) {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", metrics)
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "well") })
	mux.HandleFunc("/debug", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "inner") })
	back := serve(t, mux)
	g := NewGate(Timing{Interval: time.Minute, Grace: time.Minute})
	return g, serve(t, Handler(g, "/metrics", behind{address: strings.TrimPrefix(back.URL, "http://")}))
}

func TestPassesOn(t *testing.T) {
	g, front := exporter(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "up 1 "+r.URL.RawQuery) })
	g.Tell(time.Now())
	for _, c := range []struct {
		method, path string
		status       int
		body         string
	}{
		{"GET", "/health", 200, "well"},
		{"HEAD", "/metrics", 200, ""},
		{"POST", "/metrics", 405, "Method Not Allowed\n"},
		{"GET", "/debug", 404, "404 page not found\n"},
		{"GET", EndingPath, 405, "Method Not Allowed\n"},
		{"POST", EndingPath, 200, "noted\n"},
	} {
		status, body := ask(t, c.method, front.URL+c.path)
		require.Equal(t, c.status, status, c.path)
		require.Equal(t, c.body, body, c.path)
		require.False(t, open(g), "%s %s is no sample", c.method, c.path)
	}
	status, body := ask(t, "GET", front.URL+"/metrics?name=x")
	require.Equal(t, 200, status)
	require.Equal(t, "up 1 name=x", body)
	require.Eventually(t, func() bool { return open(g) }, 5*time.Second, time.Millisecond)
}

// Who scrapes pods of several exporters asks all of them for one path.
func TestPathOfItsOwn(t *testing.T) {
	back := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.URL.Path+" "+r.URL.RawQuery) }))
	for _, path := range []string{"/metrics", "/stats"} {
		g := NewGate(Timing{Interval: time.Minute, Grace: time.Minute})
		front := serve(t, Handler(g, "/stats", behind{address: strings.TrimPrefix(back.URL, "http://")}))
		g.Tell(time.Now())
		status, body := ask(t, "GET", front.URL+path+"?name=x")
		require.Equal(t, 200, status)
		require.Equal(t, "/stats name=x", body)
		require.Eventually(t, func() bool { return open(g) }, 5*time.Second, time.Millisecond, path)
	}
}

func TestOnlyAWholeSampleCounts(t *testing.T) {
	var turn atomic.Int32
	g, front := exporter(t, func(w http.ResponseWriter, r *http.Request) {
		switch turn.Add(1) {
		case 1:
			http.Error(w, "collecting", http.StatusInternalServerError)
		case 2:
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "up")
		case 3:
			fmt.Fprint(w, "up")
			_ = http.NewResponseController(w).Flush()
			// Until the proxy has learned that the scraper left.
			<-r.Context().Done()
		default:
			fmt.Fprint(w, "up 1")
		}
	})
	g.Tell(time.Now())
	status, _ := ask(t, "GET", front.URL+"/metrics")
	require.Equal(t, 500, status)
	// On a connection of its own: what breaks off on a used one, Go's client asks for again.
	alone := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := alone.Get(front.URL + "/metrics")
	if err == nil {
		_, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	require.Error(t, err, "a sample that breaks off")
	ctx, leave := context.WithCancel(context.Background())
	request, err := http.NewRequestWithContext(ctx, "GET", front.URL+"/metrics", nil)
	require.NoError(t, err)
	response, err = alone.Do(request)
	require.NoError(t, err)
	leave()
	_, err = io.ReadAll(response.Body)
	require.Error(t, err, "the scraper left")
	response.Body.Close()
	time.Sleep(50 * time.Millisecond)
	require.False(t, open(g))
	status, _ = ask(t, "GET", front.URL+"/metrics")
	require.Equal(t, 200, status)
	require.Eventually(t, func() bool { return open(g) }, 5*time.Second, time.Millisecond)
}

func TestNoExporterBehind(t *testing.T) {
	g := NewGate(Timing{Interval: time.Minute, Grace: time.Minute})
	g.Tell(time.Now())
	status, body := ask(t, "GET", serve(t, Handler(g, "/m", behind{problem: "it does not run: exit code 1"})).URL+"/m")
	require.Equal(t, 503, status)
	require.Equal(t, "it does not run: exit code 1\n", body)
	gone := serve(t, http.NotFoundHandler())
	gone.Close()
	status, body = ask(t, "GET", serve(t, Handler(g, "/health", behind{address: strings.TrimPrefix(gone.URL, "http://")})).URL+"/health")
	require.Equal(t, 502, status)
	require.Contains(t, body, "the exporter does not answer: ")
	require.False(t, open(g))
}

func TestOnlyThePodItselfEnds(t *testing.T) {
	h := Handler(NewGate(Timing{}), "/metrics", behind{})
	for remote, want := range map[string]int{"127.0.0.1:1": 200, "[::1]:1": 200, "10.0.0.1:1": 403, "": 403} {
		w := httptest.NewRecorder()
		request := httptest.NewRequest("POST", EndingPath, nil)
		request.RemoteAddr = remote
		h.ServeHTTP(w, request)
		require.Equal(t, want, w.Code, remote)
	}
}
