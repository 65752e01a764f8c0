package probe

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpu-dra/gpu-dra/test/cluster/internal/component"
)

func alive() bool { return true }

func TestWaitsForTheAnswer(t *testing.T) {
	var asked atomic.Int32
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 3 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer server.Close()
	authority := filepath.Join(t.TempDir(), "ca.crt")
	raw := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(authority, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Wait(t.Context(), component.Probe{URL: server.URL, Authority: authority}, alive); err != nil {
		t.Fatal(err)
	}
	if asked.Load() != 3 {
		t.Errorf("asked %d times, want 3", asked.Load())
	}
	// Somebody else's server on the same port is not ours.
	if err := Once(t.Context(), component.Probe{URL: server.URL}); err == nil {
		t.Error("a server of an unknown authority counts as ready")
	}
}

func TestSaysWhyItGaveUp(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "poststarthook not finished", http.StatusInternalServerError)
	}))
	defer server.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if err := Wait(ctx, component.Probe{URL: server.URL}, alive); err == nil || !strings.Contains(err.Error(), "not ready in time") {
		t.Errorf("error %v, want one that says not ready in time", err)
	}
	err := Wait(t.Context(), component.Probe{URL: server.URL}, func() bool { return false })
	if err == nil || !strings.Contains(err.Error(), "the process ended") {
		t.Errorf("error %v, want one that says the process ended", err)
	}
	if err := Once(t.Context(), component.Probe{URL: server.URL}); err == nil || !strings.Contains(err.Error(), "poststarthook") {
		t.Errorf("error %v, want the server's own words", err)
	}
}
