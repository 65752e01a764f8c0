package lastsample

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"
)

const (
	// EndingPath is where a process in the pod says that the pod has begun to end.
	EndingPath = "/-/ending"
	// healthPath of the exporter.
	healthPath = "/health"
	// scraped is asked for whatever the exporter's own path is: whoever scrapes pods of several exporters knows one path.
	scraped = "/metrics"
)

// Exporter that stands behind a handler.
type Exporter interface {
	// Address of its listener, or why there is none.
	Address() (address, problem string)
}

// Handler passes requests for the metrics and the health of an exporter on to it, and tells the gate who has been given a
// whole sample.
func Handler(g *Gate, metricsPath string, e Exporter) http.Handler {
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			address, _ := e.Address()
			r.SetURL(&url.URL{Scheme: "http", Host: address})
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, "the exporter does not answer: "+err.Error(), http.StatusBadGateway)
		},
	}
	behind := func(w http.ResponseWriter, r *http.Request) {
		if _, problem := e.Address(); problem != "" {
			http.Error(w, problem, http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}
	mux := http.NewServeMux()
	metrics := func(w http.ResponseWriter, r *http.Request) {
		r.URL.Path, r.URL.RawPath = metricsPath, ""
		began := time.Now()
		answer := &answer{ResponseWriter: w}
		// It panics, and with that the server cuts the connection, where a sample breaks off.
		behind(answer, r)
		if answer.status == http.StatusOK && r.Method == http.MethodGet && r.Context().Err() == nil {
			g.Scraped(host(r.RemoteAddr), began, time.Now())
		}
	}
	mux.HandleFunc("GET "+metricsPath, metrics)
	if metricsPath != scraped {
		mux.HandleFunc("GET "+scraped, metrics)
	}
	if metricsPath != healthPath {
		mux.HandleFunc("GET "+healthPath, behind)
	}
	mux.HandleFunc("POST "+EndingPath, func(w http.ResponseWriter, r *http.Request) {
		if ip := net.ParseIP(host(r.RemoteAddr)); ip == nil || !ip.IsLoopback() {
			http.Error(w, "from within the pod only", http.StatusForbidden)
			return
		}
		g.Announce(time.Now())
		fmt.Fprintln(w, "noted")
	})
	return mux
}

func host(address string) string {
	if h, _, err := net.SplitHostPort(address); err == nil {
		return h
	}
	return address
}

// answer remembers the status of a response.
type answer struct {
	http.ResponseWriter
	status int
}

func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

func (a *answer) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap lets the proxy flush.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }
