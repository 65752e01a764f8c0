package main

import (
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestDevicesAreKnownByTheirSlices(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer secret" || r.FormValue("fieldSelector") != "spec.nodeName=real-1" {
			http.Error(w, "who asks for what", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, `{"items": [{"spec": {"driver": "gpu.example.com", "pool": {"name": "real-1"}, "devices": [
			{"name": "gpu-0", "attributes": {"uuid": {"string": "gpu-18db0e85"}, "index": {"int": 0}}}, {"name": "gpu-1"}]}}]}`)
	}))
	defer server.Close()
	c := cluster{server.URL, t.TempDir()}
	write := func(name string, data []byte) {
		if err := os.WriteFile(filepath.Join(c.dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.uuids(t.Context(), "real-1"); err == nil {
		t.Error("no token is no error")
	}
	write("token", []byte("secret"))
	write("ca.crt", []byte("none"))
	if _, err := c.uuids(t.Context(), "real-1"); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Errorf("error %v", err)
	}
	write("ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	got, err := c.uuids(t.Context(), "real-1")
	if err != nil || len(got) != 1 || got[place{"gpu.example.com", "real-1", "gpu-0"}] != "gpu-18db0e85" {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := c.uuids(t.Context(), "real-2"); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("error %v", err)
	}
}
