package controller

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/gpu-dra/gpu-dra/internal/certificate"
)

// cluster is an API server that gives out the lease and the webhook's Secret, and lets nothing else be read.
type cluster struct {
	url string
	// lease as it was last written; nil: there is none.
	lease atomic.Pointer[written]
}

// written is an object as a client sent it.
type written struct {
	body  []byte
	media string
	// holder of the lease; empty: it was given back.
	holder string
}

// leases is the path of all leases.
const leases = "/apis/coordination.k8s.io/"

func newCluster(t *testing.T, pair certificate.Pair) *cluster {
	c := &cluster{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodGet && strings.HasPrefix(r.URL.Path, leases) && c.lease.Load() != nil:
			w.Header().Set("Content-Type", c.lease.Load().media)
			_, _ = w.Write(c.lease.Load().body)
		case r.Method != http.MethodGet && strings.HasPrefix(r.URL.Path, leases):
			body, _ := io.ReadAll(r.Body)
			object, _, _ := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
			if lease, ok := object.(*coordinationv1.Lease); ok {
				c.lease.Store(&written{body, r.Header.Get("Content-Type"), ptr.Deref(lease.Spec.HolderIdentity, "")})
			}
			w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
			_, _ = w.Write(body)
		case r.URL.Path == "/api/v1/namespaces/gpu-dra/secrets/secret":
			_ = json.NewEncoder(w).Encode(&corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
				Data: map[string][]byte{"ca.crt": pair.CA, "tls.crt": pair.Cert, "tls.key": pair.Key}})
		default:
			w.WriteHeader(http.StatusNotFound)
			_ = json.NewEncoder(w).Encode(&metav1.Status{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound})
		}
	}))
	t.Cleanup(server.Close)
	c.url = server.URL
	return c
}

func (c *cluster) leads() bool {
	lease := c.lease.Load()
	return lease != nil && lease.holder != ""
}

// startIn runs a process in a cluster and returns what its /readyz answers, how to stop it and when it has ended.
func startIn(t *testing.T, c *cluster, config, webhook string) (ready func() string, stop func(), ended chan error) {
	t.Helper()
	file, probes := filepath.Join(t.TempDir(), "config.yaml"), freePort(t)
	require.NoError(t, os.WriteFile(file, []byte(config), 0o644))
	ctx, stop := context.WithCancel(t.Context())
	ended = make(chan error, 1)
	go func() {
		ended <- Run(ctx, Options{
			ConfigFile: file, MetricsAddress: "0", ProbeAddress: probes, WebhookAddress: webhook, LeaderElect: true, Log: logr.Discard(),
			REST: &rest.Config{Host: c.url},
		})
	}()
	return func() string { return get("http://" + probes + "/readyz") }, stop, ended
}

// A leader without the webhook is ready when the cluster was read: a rollout waits for that.
func TestLeaderIsReadyWhenTheClusterWasRead(t *testing.T) {
	c := newCluster(t, certificate.Pair{})
	ready, stop, ended := startIn(t, c, goodConfig, "0")
	require.Eventually(t, func() bool { return c.leads() && ready() == "503 the cluster was not read yet\n" }, 30*time.Second, 20*time.Millisecond, "%s", ready())
	stop()
	requireEnd(t, ended)
}

// A process with the webhook is ready when that can be called, and stays so when it begins to lead and has the cluster to read.
// When it ends, it is not ready at once, serves the webhook on until nobody calls it any more, and has given the lease back at the end.
func TestWebhookStaysReadyAtTheStartAndServesOnAtTheEnd(t *testing.T) {
	pair, err := certificate.New(time.Now(), []string{"service.gpu-dra.svc", "service.gpu-dra"})
	require.NoError(t, err)
	c, hook := newCluster(t, pair), freePort(t)
	config := goodConfig + "sidecar: {image: gpu-dra, webhook: {name: hook, service: service, secret: secret}}\n"
	ready, stop, ended := startIn(t, c, config, hook)
	require.Eventually(t, func() bool { return ready() == "200 ok\n" }, 30*time.Second, 20*time.Millisecond)
	require.Eventually(t, c.leads, 30*time.Second, 20*time.Millisecond)
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		require.Equal(t, "200 ok\n", ready())
	}
	require.NoError(t, review(hook, pair))

	began := time.Now()
	stop()
	require.Eventually(t, func() bool { return ready() == "503 the process is ending\n" }, 3*time.Second, 5*time.Millisecond)
	for time.Since(began) < 3*time.Second {
		require.NoError(t, review(hook, pair), "after %s", time.Since(began))
		require.Equal(t, "503 the process is ending\n", ready())
		time.Sleep(50 * time.Millisecond)
	}
	requireEnd(t, ended)
	require.False(t, c.leads(), "who comes next has no lease to wait for")
	require.Error(t, review(hook, pair))
}

// review asks a webhook as an API server does that has no connection to it yet.
func review(address string, pair certificate.Pair) error {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pair.CA)
	client := &http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "service.gpu-dra.svc"}}}
	asked, err := json.Marshal(&admissionv1.AdmissionReview{Request: &admissionv1.AdmissionRequest{UID: "u", Operation: admissionv1.Create}})
	if err != nil {
		return err
	}
	response, err := client.Post("https://"+address+"/pods", "application/json", strings.NewReader(string(asked)))
	if err != nil {
		return err
	}
	defer response.Body.Close()
	got := admissionv1.AdmissionReview{}
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		return err
	}
	if got.Response == nil || !got.Response.Allowed {
		return fmt.Errorf("answered %+v", got.Response)
	}
	return nil
}
